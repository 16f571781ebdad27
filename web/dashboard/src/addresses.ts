import { signal } from '@preact/signals'
import { readServer } from '#api/tokens.ts'
import { call } from './api/call.ts'

/** The public base addresses of a server, without a slash at the end. */
export interface ServerAddresses {
  /** Of WHIP, WHEP, HLS and the watch page. */
  readonly http: string
  /** `rtmp://host:port` */
  readonly rtmp: string
  /** `rtmps://host:port`; null: the server has none. */
  readonly rtmps: string | null
  /** `srt://host:port`; null: SRT is switched off. */
  readonly srt: string | null
}

const known = signal<ServerAddresses | null>(null)
const isLoaded = signal(false)

/** Asks the server how clients reach it. Until it has answered, and if it does not, the addresses are those of this page. */
export async function loadAddresses(): Promise<void> {
  try {
    const { addresses } = await call(readServer, {})
    const base = (address?: string): string | undefined => address?.split('/v2/pub')[0]
    known.value = {
      http: addresses.base.replace(/\/$/, ''),
      rtmp: base(addresses.rtmp) ?? pageAddresses().rtmp,
      rtmps: base(addresses.rtmps) ?? null,
      srt: addresses.srt ?? null,
    }
  } finally {
    isLoaded.value = true
  }
}

/** The addresses that clients reach the server at. */
export const ownAddresses = (): ServerAddresses => known.value ?? pageAddresses()

/** Whether the addresses are final: a page that is open for copying would show those of this page for a moment. */
export const areAddressesFinal = (): boolean => isLoaded.value

/** As this browser reaches the server; a proxy may put a prefix in front of `/dashboard/`. */
export const pageAddresses = (): ServerAddresses => ({
  http: new URL('..', document.baseURI).href.replace(/\/$/, ''),
  rtmp: `rtmp://${location.hostname}:1935`,
  rtmps: null,
  srt: null,
})

/** True: the addresses lead every client to its own machine, and nowhere else. */
export const isOwnMachine = ({ http }: ServerAddresses): boolean =>
  /^(localhost|.+\.localhost|127\.[\d.]+|\[::1\])$/.test(new URL(http).hostname)

const part = (name: string): string => encodeURIComponent(name)

export const whipAddress = ({ http }: ServerAddresses, streamName: string): string =>
  `${http}/api/whip/${part(streamName)}`

/** Encrypted if the server can. */
export const rtmpServer = ({ rtmp, rtmps }: ServerAddresses): string => `${rtmps ?? rtmp}/v2/pub`

/** How to get to a page that browsers trust. */
export const trustAddress = ({ http }: ServerAddresses): string => `${http}/trust`

/** The stream key of OBS; the token is part of it. */
export const rtmpKey = (streamName: string, token: string): string => `${part(streamName)}?token=${part(token)}`

/** The secrets of a publish token. */
export interface PublishSecrets {
  /** Its value; absent where the user may not see it. */
  readonly token?: string | undefined
  /** Absent: the token does not display it. */
  readonly srtPassphrase?: string | undefined
}

/** The whole address for a publisher over SRT, encrypted if the token displays its passphrase; null: SRT is switched off. */
export function srtAddress({ srt }: ServerAddresses, streamName: string, secrets: PublishSecrets): string | null {
  const { token = '$TOKEN', srtPassphrase } = secrets
  const encryption = srtPassphrase === undefined ? '' : `&passphrase=${part(srtPassphrase)}`
  return srt === null ? null : `${srt}?streamid=${part(`${part(streamName)}?t=${token}`)}${encryption}`
}

/** Where viewers of a distribution of a channel find it. */
export const distributionAddress = ({ http }: Pick<ServerAddresses, 'http'>, id: string): string =>
  `${http}/v2/distributions/${part(id)}/hls/main.m3u8`

/** A viewer's page. `token`: the subscribe token, for streams that need one. */
export const watchAddress = ({ http }: ServerAddresses, accountId: string, streamName: string, token = ''): string =>
  `${http}/watch/${part(accountId)}/${part(streamName)}${token === '' ? '' : `?token=${part(token)}`}`
