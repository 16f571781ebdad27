import { NativeBackEnd } from './nativeBackEnd.ts'
import { loadNative } from './nativeAddon.ts'
import { openUdp, type Receive, type UdpPort } from './socket.ts'
import { openNativeUdp } from './udpNative.ts'

/** The one UDP port of a relay process, and what seals and sends by it faster than JavaScript does. */
export interface MediaPort {
  readonly udp: UdpPort
  readonly native: NativeBackEnd | null
  /** Why there is no back end in C, in a sentence; null where there is one. */
  readonly note: string | null
}

/**
 * Opens the port at `host`, or at every address of this machine when that is ''; by the addons where they are wanted and fit.
 * @throws the error of the socket when the port is taken
 */
export async function openPort(
  wish: { host: string; port: number },
  isNativeWanted: boolean,
  receive: Receive,
): Promise<MediaPort> {
  if (!isNativeWanted) return inJavaScript('Media is forwarded in JavaScript alone, as it was asked for.')
  const addons = loadNative()
  if (!addons.ok) return inJavaScript(addons.error)
  const udp = await openNativeUdp(addons.value.udp, wish, receive)
  return { udp, native: new NativeBackEnd(addons.value.fanout, udp.descriptors), note: null }

  async function inJavaScript(note: string): Promise<MediaPort> {
    return { udp: await openUdp(wish, receive), native: null, note }
  }
}
