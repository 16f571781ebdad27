/**
 * `sluice/client`: broadcast over WHIP (RFC 9725) and watch over WHEP in a browser. No dependencies. What each code
 * means and what to do about it: docs/guides/client-library.md.
 */
export type { ClientOptions, ClientState } from './client.ts'
export type { Environment } from './environment.ts'
export { refusalOf, SluiceError, type SluiceErrorCode } from './errors.ts'
export type { ViewerLayer, ViewerLayers } from './layers.ts'
export type { MediaStats, VideoStats } from './stats.ts'
export { sendableCodecs, type VideoCodec } from './codecs.ts'
export { WhipPublisher, type PublisherOptions } from './publisher.ts'
export { WhepViewer, type StartedAs, type ViewerOptions } from './viewer.ts'
