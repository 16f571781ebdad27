/** The size of a picture, in pixels. */
export interface PixelSize {
  readonly width: number
  readonly height: number
}
