import type { StreamEntry } from './streamEntry.ts'

/** The public base addresses of a server, without a slash at the end. */
export interface ServerAddresses {
  /** Of WHIP, WHEP, HLS, the player and the watch page. */
  readonly http: string
  /** `rtmp://host:port`. Empty: RTMP is off. */
  readonly rtmp: string
}

/** What a stream's addresses are made of. */
export interface StreamPlace extends ServerAddresses {
  readonly accountId: string
  readonly streamName: string
}

const part = (name: string): string => encodeURIComponent(name)

/** Where a publisher goes, and where viewers go. */
export function addressesOf({ http, rtmp, accountId, streamName }: StreamPlace) {
  const stream = `${part(accountId)}/${part(streamName)}`
  return {
    whip: `${http}/api/whip/${part(streamName)}`,
    rtmpServer: `${rtmp}/v2/pub`,
    whep: `${http}/api/whep/${stream}`,
    hls: `${http}/hls/${stream}/index.m3u8`,
    watch: `${http}/watch/${stream}`,
  }
}

/** The stream key of OBS; the token is part of it. */
export const rtmpKey = (streamName: string, token: string): string => `${part(streamName)}?token=${token}`

/** An ffmpeg command that broadcasts a file over RTMP. */
export const ffmpegCommand = (place: StreamPlace, token: string): string =>
  [
    'ffmpeg -re -i video.mp4',
    '-c:v libx264 -preset veryfast -bf 0 -g 60 -c:a aac',
    `-f flv "${addressesOf(place).rtmpServer}/${rtmpKey(place.streamName, token)}"`,
  ].join(' \\\n  ')

const html = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

/** HTML that plays the stream in another page. */
export const embedCode = ({ http, accountId, streamName }: StreamPlace, token?: string): string =>
  [
    `<script type="module" src="${html(http)}/player.js"></script>`,
    `<sluice-player stream="${html(`${accountId}/${streamName}`)}"${token ? ` token="${html(token)}"` : ''}></sluice-player>`,
  ].join('\n')

/** The name that addresses are shown for: the first exact one, or the one that the person chose. */
export const nameFor = (streams: readonly StreamEntry[], chosen: string): string =>
  chosen || (streams.find(({ isRegex }) => !isRegex)?.streamName ?? '')
