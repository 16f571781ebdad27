import { NativeBackEnd } from './nativeBackEnd.ts'
import { loadNative } from './nativeAddon.ts'
import { openUdp, type Receive, type UdpPort } from './socket.ts'
import { openNativeUdp } from './udpNative.ts'

/** The UDP port of a relay process, and the native back end that sends by it. */
export interface MediaPort {
  readonly udp: UdpPort
  readonly native: NativeBackEnd | null
  /** Why there is no native back end, in a sentence; null if there is one. */
  readonly note: string | null
}

/**
 * Opens the port at `host`, or at every address of this machine when that is ''. Uses the addons if wanted and available.
 * @throws the error of the socket when the port is taken
 */
export async function openPort(
  options: { host: string; port: number },
  isNativeWanted: boolean,
  receive: Receive,
): Promise<MediaPort> {
  if (!isNativeWanted) return inJavaScript('Media is forwarded in JavaScript alone, as it was asked for.')
  const addons = loadNative()
  if (!addons.ok) return inJavaScript(addons.error)
  const udp = await openNativeUdp(addons.value.udp, options, receive)
  return { udp, native: new NativeBackEnd(addons.value.fanout, udp.descriptors), note: null }

  async function inJavaScript(note: string): Promise<MediaPort> {
    return { udp: await openUdp(options, receive), native: null, note }
  }
}
