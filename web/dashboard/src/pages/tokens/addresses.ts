import { rtmpKey, rtmpServer, type ServerAddresses, watchAddress, whipAddress } from '../../addresses.ts'

/** What a stream's addresses are made of. */
export interface StreamPlace extends ServerAddresses {
  readonly accountId: string
  readonly streamName: string
}

const part = (name: string): string => encodeURIComponent(name)

/** Where a publisher goes, and where viewers go. */
export function addressesOf(place: StreamPlace) {
  const { http, accountId, streamName } = place
  const stream = `${part(accountId)}/${part(streamName)}`
  return {
    whip: whipAddress(place, streamName),
    rtmpServer: rtmpServer(place),
    whep: `${http}/api/whep/${stream}`,
    hls: `${http}/hls/${stream}/index.m3u8`,
  }
}

/** An ffmpeg command that broadcasts a file over RTMP. */
export const ffmpegCommand = (place: StreamPlace, token: string): string =>
  [
    'ffmpeg -re -i video.mp4',
    '-c:v libx264 -preset veryfast -bf 0 -g 60 -c:a aac',
    `-f flv "${addressesOf(place).rtmpServer}/${rtmpKey(place.streamName, '')}${token}"`,
  ].join(' \\\n  ')

const html = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

/**
 * HTML that shows the watch page in another page. The token is in the query: the server reads it there to say which
 * sites may show the frame.
 */
export const frameCode = ({ accountId, streamName, ...server }: StreamPlace, token: string): string =>
  [
    '<iframe',
    `  src="${html(watchAddress(server, accountId, streamName, token))}"`,
    '  allow="autoplay; fullscreen"',
    '></iframe>',
  ].join('\n')

/** HTML that plays the stream in another page. */
export const embedCode = ({ http, accountId, streamName }: StreamPlace, token?: string): string =>
  [
    `<script type="module" src="${html(http)}/player.js"></script>`,
    `<sluice-player stream="${html(`${accountId}/${streamName}`)}"${token ? ` token="${html(token)}"` : ''}></sluice-player>`,
  ].join('\n')
