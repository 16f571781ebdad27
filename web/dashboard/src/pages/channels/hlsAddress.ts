/** The address where viewers of a distribution find it. */
export const hlsAddress = (id: string): string =>
  new URL(`../v2/distributions/${id}/hls/main.m3u8`, document.baseURI).href
