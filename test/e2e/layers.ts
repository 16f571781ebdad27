/** The simulcast layers of a browser, as `sendEncodings` takes them. */
export const LAYERS = [
  { rid: 'q', scaleResolutionDownBy: 4, maxBitrate: 100_000 },
  { rid: 'h', scaleResolutionDownBy: 2, maxBitrate: 300_000 },
  { rid: 'f', maxBitrate: 900_000 },
]
/** The width of the layer `q`: a quarter of 960 pixels. */
export const SMALLEST = 240
