/** The public base addresses of a server, without a slash at the end. */
export interface ServerAddresses {
  /** Of WHIP, WHEP, HLS and the watch page. */
  readonly http: string
  /** `rtmp://host:port` */
  readonly rtmp: string
}

/** The addresses as this browser reaches the server; a proxy may put a prefix in front of `/dashboard/`. */
export const ownAddresses = (): ServerAddresses => ({
  http: new URL('..', document.baseURI).href.replace(/\/$/, ''),
  rtmp: `rtmp://${location.hostname}:1935`,
})

const part = (name: string): string => encodeURIComponent(name)

export const whipAddress = ({ http }: ServerAddresses, streamName: string): string =>
  `${http}/api/whip/${part(streamName)}`

export const rtmpServer = ({ rtmp }: ServerAddresses): string => `${rtmp}/v2/pub`

/** The stream key of OBS; the token is part of it. */
export const rtmpKey = (streamName: string, token: string): string => `${part(streamName)}?token=${part(token)}`

/** A viewer's page. `token`: the subscribe token, for streams that need one. */
export const watchAddress = ({ http }: ServerAddresses, accountId: string, streamName: string, token = ''): string =>
  `${http}/watch/${part(accountId)}/${part(streamName)}${token === '' ? '' : `?token=${part(token)}`}`
