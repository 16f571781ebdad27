import { loadAddon } from '../../../base/addon.ts'
import { err, ok, type Result } from '../../../base/result.ts'
import { deriveKeys, type MasterKeys, PROFILES } from '../srtp/keys.ts'
import { type RtpHead, SrtpWriter } from '../srtp/writer.ts'
import { carriesAlike, type UdpAddon } from './udpNative.ts'

/** What native/fanout.c exports. Handles are numbers; a wrong argument makes it throw a TypeError. */
export interface Addon {
  addTransport(profile: number, key: Buffer, salt: Buffer, authentication: Buffer): number
  /** `fd` out of `adoptSocket`, 0 for nowhere. `address`: 4 bytes for IPv4 sockets, 16 for IPv6. */
  route(transport: number, fd: number, address: Buffer, port: number): void
  removeTransport(transport: number): void
  addList(): number
  removeList(list: number): void
  addTarget(
    list: number,
    transport: number,
    ssrc: number,
    payloadType: number,
    indexOffset: number,
    timestampOffset: number,
    firstIndex: number,
  ): void
  removeTarget(list: number, transport: number, ssrc: number): void
  /** Returns how many packets wait; at 16 they must be flushed. */
  queue(list: number, payload: Buffer, index: number, timestamp: number, marker: boolean): number
  /** Returns how many packets the kernel took. */
  flush(list: number): number
  seal(
    transport: number,
    payloadType: number,
    marker: boolean,
    index: number,
    timestamp: number,
    ssrc: number,
    payload: Buffer,
  ): Buffer
  /** Returns whether it is authentic. Decrypts the bytes after the first `clear` in place; they are garbage otherwise. */
  open(transport: number, sealed: Buffer, clear: number, ssrc: number, index: number): boolean
  /** A descriptor of its own for a datagram socket of this process; 0 when it is none. */
  adoptSocket(fd: number): number
  closeSocket(fd: number): void
  /** Whether a run of packets leaves for this transport as one message, which the kernel segments (UDP GSO). */
  segments(transport: number): boolean
}

/** The longest payload that the addon queues. */
export const MAX_PAYLOAD = 1460
/** Bytes in front of a payload. */
export const HEADER = 12

/** The addons: one sends and receives datagrams, the other encrypts and decrypts. */
export interface Addons {
  readonly fanout: Addon
  readonly udp: UdpAddon
}

/**
 * Loads the addons and verifies them: they must encrypt and decrypt as JavaScript does, byte for byte, and their datagrams must
 * arrive. The error is a sentence for the log; JavaScript does all the work then.
 */
export function loadNative(folder?: string): Result<Addons, string> {
  const fanout = loadAddon('fanout', folder) as Partial<Addon> | null
  const udp = loadAddon('udp', folder) as UdpAddon | null
  if (fanout === null || udp === null) return err('The native fan-out is not built, or does not fit this Node.')
  return isWhole(fanout) && sealsAlike(fanout) && carriesAlike(udp)
    ? ok({ fanout, udp })
    : err('The native fan-out does not do as it should; it is not used.')
}

/** Of this version: one that was built before can lack what came last. */
const isWhole = (addon: Partial<Addon>): addon is Addon => addon.segments !== undefined

/** The profiles, sizes and indexes at which an implementation could go wrong. */
export function sealsAlike(addon: Addon): boolean {
  return PROFILES.every((profile) => {
    const master = { profile, key: Buffer.alloc(profile.keyBytes, 0x5a), salt: Buffer.alloc(profile.saltBytes, 0xc3) }
    const writer = new SrtpWriter(master)
    const transport = addTransport(addon, master)
    const areAlike = samples().every(({ head, payload }) => {
      const { payloadType, marker, index, timestamp, ssrc } = head
      const sealed = writer.rtp(head, payload)
      if (!sealed.equals(addon.seal(transport, payloadType, marker, index, timestamp, ssrc, payload))) return false
      return opensAlike(addon, transport, sealed, { head, payload })
    })
    addon.removeTransport(transport)
    return areAlike
  })
}

/** Whether a packet opens, and a packet with one other bit does not. */
function opensAlike(addon: Addon, target: number, sealed: Buffer, { head, payload }: Sample): boolean {
  const forged = Buffer.from(sealed)
  const at = forged.length - 1 - (head.index % forged.length)
  forged[at] = (forged[at] ?? 0) ^ 1
  if (addon.open(target, forged, HEADER, head.ssrc, head.index)) return false
  const whole = addon.open(target, sealed, HEADER, head.ssrc, head.index)
  return whole && sealed.subarray(HEADER, HEADER + payload.length).equals(payload)
}

interface Sample {
  readonly head: RtpHead
  readonly payload: Buffer
}

function samples(): Sample[] {
  const sizes = [0, 1, 15, 16, 17, 255, 1200, MAX_PAYLOAD]
  const indexes = [0, 1, 0xffff, 0x10000, 0x7fff_ffff, 2 ** 32 + 7, 2 ** 40 + 0xffff]
  return sizes.flatMap((size, at) =>
    indexes.map((index) => ({
      head: { payloadType: 96 + at, marker: at % 2 === 0, index, timestamp: 0xffff_ff00 + at, ssrc: 0x8000_0001 + at },
      payload: Buffer.from(Array.from({ length: size }, (_, byte) => byte * 7 + at)),
    })),
  )
}

/** Makes a transport of the addon with the keys of one direction. Returns its handle. */
export function addTransport(addon: Addon, master: MasterKeys): number {
  const { profile, encryption, authentication, salt } = deriveKeys(master, 'rtp')
  return addon.addTransport(profile.id, encryption.export(), salt, authentication.export())
}
