import { NativeBackEnd } from './nativeBackEnd.ts'
import { loadNative } from './nativeAddon.ts'
import { openUdp, type Receive, type UdpOptions, type UdpPort } from './socket.ts'
import { openTcp, type TcpPort } from './tcp.ts'
import { openNativeUdp } from './udpNative.ts'

/** The UDP port of a relay process, and the native back end that sends by it. */
export interface MediaPort {
  readonly udp: UdpPort
  readonly native: NativeBackEnd | null
  /** What an operator should know, in sentences, such as why there is no native back end; null: nothing. */
  readonly note: string | null
  /** Listens at these addresses instead (`UdpPort.follow`). One call at a time. */
  follow(addresses: readonly string[]): Promise<void>
}

/** The ports of a relay process. */
export interface MediaPorts extends MediaPort {
  /** The same port of TCP, for peers without UDP. Null: it could not be opened, and `note` says so. */
  readonly tcp: TcpPort | null
}

/** Any port may be taken over TCP by another program, or by a connection of one, although it is free over UDP. */
const ATTEMPTS = 10

/**
 * Opens a port over UDP and TCP; port 0 is any that is free over both.
 * @throws the error of the socket when the port is taken over UDP
 */
export async function openPorts(
  options: UdpOptions,
  isNativeWanted: boolean,
  receive: Receive,
  listen: typeof openTcp = openTcp,
): Promise<MediaPorts> {
  for (let left = options.port === 0 ? ATTEMPTS : 1; ; left--) {
    const opened = await openPort(options, isNativeWanted, receive)
    const { addresses, port } = opened.udp
    const tcp = await listen({ addresses, port }, receive).catch(() => null)
    const follow = async (wanted: readonly string[]): Promise<void> => {
      await opened.follow(wanted)
      await tcp?.follow(opened.udp.addresses)
    }
    if (tcp !== null) return { ...opened, tcp, follow }
    const problem = `Peers that cannot send UDP cannot connect: TCP port ${port} cannot be opened.`
    if (left === 1) return { ...opened, tcp, note: [opened.note ?? [], problem].flat().join(' ') }
    opened.native?.close()
    await opened.udp.close()
  }
}

/**
 * Opens the port of UDP at `host`, or at every address of this machine when that is ''. Uses the addons if wanted and available.
 * @throws the error of the socket when the port is taken
 */
export async function openPort(options: UdpOptions, isNativeWanted: boolean, receive: Receive): Promise<MediaPort> {
  if (!isNativeWanted) return inJavaScript('Media is forwarded in JavaScript alone, as it was asked for.')
  const addons = loadNative()
  if (!addons.ok) return inJavaScript(addons.error)
  const udp = await openNativeUdp(addons.value.udp, options, receive)
  const native = new NativeBackEnd(addons.value.fanout, udp.descriptors)
  const follow = async (wanted: readonly string[]): Promise<void> => {
    await udp.follow(wanted)
    native.follow(udp.descriptors)
  }
  return { udp, native, note: null, follow }

  async function inJavaScript(note: string): Promise<MediaPort> {
    const javaScript = await openUdp(options, receive)
    return { udp: javaScript, native: null, note, follow: (wanted) => javaScript.follow(wanted) }
  }
}
