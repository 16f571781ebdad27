declare module '*.css?inline' {
  const text: string
  export default text
}

/** The build without subtitles and DRM; it has no types of its own. */
declare module 'hls.js/light' {
  export { default } from 'hls.js'
}
