import { createSocket, type Socket } from 'node:dgram'
import { on, once } from 'node:events'
import { loadAddon } from '../../base/addon.ts'

/** Sends datagrams of `datagramBytes`, the last perhaps shorter, which lie one behind another in `run`. */
export type SendRun = (run: Buffer, datagramBytes: number) => void

/** What native/udp.c has for it. */
export interface RunAddon {
  /** Returns how many bytes the kernel took. `fd`: of a connected socket. */
  sendRun(fd: number, run: Buffer, datagramBytes: number): number
}

/** Undocumented internals of Node's datagram sockets, which `carriesRun` proves. */
interface SocketState {
  readonly handle?: { readonly fd?: number } | null
}

/**
 * How runs leave from a connected socket: with one system call, or one for each datagram where the addon is null. What the
 * kernel does not take at once, such as beyond its buffer, Node's socket queues, or reports.
 */
export function runsFrom(socket: Socket, addon: RunAddon | null): SendRun {
  const state = addon === null ? null : stateOf(socket)
  return (run, datagramBytes) => {
    const fd = state?.handle?.fd ?? -1
    const isFree = fd >= 0 && socket.getSendQueueSize() === 0
    const taken = addon !== null && isFree ? addon.sendRun(fd, run, datagramBytes) : 0
    for (let at = taken; at < run.length; at += datagramBytes) socket.send(run.subarray(at, at + datagramBytes))
  }
}

function stateOf(socket: Socket): SocketState | null {
  const name = Object.getOwnPropertySymbols(socket).find(({ description }) => description === 'state symbol')
  return name === undefined ? null : ((socket as unknown as Record<symbol, SocketState>)[name] ?? null)
}

let proved: Promise<RunAddon | null> | null = null

/** The addon, once its datagrams have arrived; null: it is not built, or does not do as it should. */
export const runAddon = (): Promise<RunAddon | null> => (proved ??= proveRuns(loadAddon('udp') as RunAddon | null))

/** Loopback takes no time. Without its datagrams runs leave one by one. */
const PROOF_MS = 1000
/** More datagrams than one message has, and a short one. */
const DATAGRAM_BYTES = 100
const PROOF = Buffer.from(Array.from({ length: 70 * DATAGRAM_BYTES + 7 }, (_, at) => at % 251))

/** Sends a run from one socket of Node's to another, and compares. */
export async function proveRuns(addon: Partial<RunAddon> | null): Promise<RunAddon | null> {
  if (addon?.sendRun === undefined) return null
  const [from, to] = [createSocket('udp4'), createSocket('udp4')]
  try {
    to.bind(0, '127.0.0.1')
    await once(to, 'listening')
    from.connect(to.address().port, '127.0.0.1')
    await once(from, 'connect')
    return (await carriesRun(addon as RunAddon, from, to)) ? (addon as RunAddon) : null
  } catch {
    return null
  } finally {
    from.close()
    to.close()
  }
}

async function carriesRun(addon: RunAddon, from: Socket, to: Socket): Promise<boolean> {
  const came = on(to, 'message', { signal: AbortSignal.timeout(PROOF_MS) })
  const fd = stateOf(from)?.handle?.fd ?? -1
  if (fd < 0 || addon.sendRun(fd, PROOF, DATAGRAM_BYTES) !== PROOF.length) return false
  for (let at = 0; at < PROOF.length; at += DATAGRAM_BYTES) {
    const [datagram] = (await came.next()).value as [Buffer]
    if (!datagram.equals(PROOF.subarray(at, at + DATAGRAM_BYTES))) return false
  }
  return true
}
