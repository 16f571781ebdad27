// One relay process. `engine.ts` starts and controls it over IPC. It exits when its parent has gone.
import { hasCode } from '../../../base/errorCode.ts'
import { isLoopback } from '../../../base/loopback.ts'
import { systemRandom } from '../../../base/random.ts'
import { walled } from '../../../base/walls.ts'
import type { MediaEngineEvent } from '../../engine.ts'
import { createIdentity } from '../transport/dtls.ts'
import type { FrameFeed } from '../forward/frameFeed.ts'
import { framePipe } from './framePipe.ts'
import { Outbox } from './outbox.ts'
import {
  BEAT_MS,
  type FromRelay,
  type Media,
  type RelayCall,
  type RelayHosts,
  type RelaySettings,
  type ToRelay,
} from './messages.ts'
import { LoopTurns } from '../transport/lateness.ts'
import { type MediaPort, openPort, openPorts } from '../transport/port.ts'
import { Relay, TICK_MS } from '../relay.ts'
import type { Receive, UdpPort } from '../transport/socket.ts'
import { isTcp } from '../transport/tcp.ts'
import type { HostAddress } from '../wire/sdp/candidate.ts'

const MAX_HOSTS = 8

const outbox = new Outbox((message, sent) => {
  if (process.connected) process.send?.(message, undefined, undefined, sent)
})
const { post } = outbox

process.on('disconnect', () => process.exit(0))
// A signal to the whole group (Ctrl+C) is the main process's to act on: it ends the sessions first, then us.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => undefined)
process.once('message', (message: ToRelay) => {
  if (message.kind !== 'start') throw new Error('the first message must be the settings')
  const { settings } = message
  run(settings).catch((error: unknown) => post({ kind: 'failed', problem: problemOf(error, settings) }))
})

/** Why it cannot serve, for an operator. */
const problemOf = (error: unknown, { port }: RelaySettings): string =>
  hasCode(error, 'EADDRINUSE')
    ? `UDP port ${port} is in use by another process; stop it, or choose another with webrtc.port`
    : String(error)

/** Since the last beat. */
let faults: Extract<FromRelay, { kind: 'beat' }>['faults'] = null

let utilization = performance.eventLoopUtilization()

/** A thread that has work but no processor counts as busy too: it has no room for more. */
function loadSinceLast(): number {
  const before = utilization
  utilization = performance.eventLoopUtilization()
  return performance.eventLoopUtilization(utilization, before).utilization
}

async function run(settings: RelaySettings): Promise<void> {
  const identity = await createIdentity()
  const now = (): number => performance.timeOrigin + performance.now()
  const turns = new LoopTurns(now())
  const receive: Receive = (datagram, from, waitedMs) =>
    relay.receive(datagram, from, waitedMs ?? turns.waitedMs(now()))
  const ports = await openPorts({ ...settings, random: systemRandom }, settings.native !== false, receive)
  const { udp, tcp, native, note } = ports
  const transports = tcp === null ? (['udp'] as const) : (['udp', 'tcp'] as const)
  let hosts = hostsOf(settings, udp, transports)
  const linkPort = await openLinkPort(settings, (datagram, _, waitedMs) =>
    relay.receiveLink(datagram, waitedMs ?? turns.waitedMs(now())),
  )
  const relay = new Relay({
    identity,
    random: systemRandom,
    now,
    later: (work) => void setImmediate(walled(work, (error) => relay.failed(error))),
    hosts: () => hosts,
    native,
    maxBitrate: settings.maxBitrate,
    maxSessions: settings.maxSessions,
    publisherSilentMs: settings.publisherSilentMs,
    send: (datagram, to) => (isTcp(to) ? tcp?.send(datagram, to) : udp.send(datagram, to)),
    release: (at) => isTcp(at) && tcp?.release(at),
    emit,
    fault: (error) => {
      faults = { count: (faults?.count ?? 0) + 1, latest: (error instanceof Error && error.stack) || String(error) }
    },
    want: (sessionId, isWanted) => post({ kind: 'want', sessionId, isWanted }),
    links: {
      process: settings.process ?? 0,
      port: linkPort?.udp.port ?? 0,
      native: linkPort?.native ?? null,
      send: (datagram, to) => linkPort?.udp.send(datagram, to),
      post: (other, message) => post({ kind: 'link', process: other, message }),
      tell: (peer, state) => post({ kind: 'nodeShare', peer, state }),
    },
  })
  work(relay, () => turns.turn(now()))
  const beat = (): void => {
    const [load, waits, feedback, links] = [loadSinceLast(), relay.waits(), relay.feedback(), relay.linkFigures()]
    post({ kind: 'beat', waits, load, feedback, links, faults })
    faults = null
  }
  setInterval(beat, BEAT_MS)
  let following = Promise.resolve()
  const follow = async ({ listen, publicAddresses }: RelayHosts): Promise<void> => {
    if (listen !== null) await ports.follow(listen)
    hosts = hostsOf({ publicAddresses }, udp, transports)
  }
  process.on('message', (message: ToRelay) => {
    if (message.kind === 'hosts') following = following.then(() => follow(message))
  })
  post({
    kind: 'ready',
    port: udp.port,
    linkPort: linkPort?.udp.port ?? null,
    note: [identity.note ?? [], note ?? []].flat().join(' ') || null,
  })
}

/** Ticks, and handles messages. `turn` is called first in each tick. */
function work(relay: Relay, turn: () => void): void {
  const tick = (): void => {
    turn()
    relay.tick()
  }
  setInterval(
    walled(tick, (error) => relay.failed(error)),
    TICK_MS,
  )
  const received = (message: ToRelay): void => handle(relay, message)
  process.on(
    'message',
    walled(received, (error, message) => failed(relay, error, message)),
  )
}

/** Links come in at the loopback alone. Null: there is no other process, or the loopback cannot be used. */
async function openLinkPort({ process: own, native }: RelaySettings, receive: Receive): Promise<MediaPort | null> {
  if (own === undefined) return null
  return openPort({ host: '127.0.0.1', port: 0, random: systemRandom }, native !== false, receive).catch(() => null)
}

/** By session: where incoming frames go, and the functions that stop outgoing frames. */
const feeds = new Map<string, FrameFeed>()
const taps = new Map<string, () => void>()

/** Posts an event. Forgets a session that has ended. */
function emit(event: MediaEngineEvent): void {
  if (event.kind === 'ended') {
    feeds.delete(event.sessionId)
    taps.get(event.sessionId)?.()
    taps.delete(event.sessionId)
  }
  outbox.emit(event)
}

/** Messages come in their order. */
function handle(relay: Relay, message: ToRelay): void {
  switch (message.kind) {
    case 'start':
    case 'hosts':
      return
    case 'call':
      post({ kind: 'answer', id: message.id, value: handleCall(relay, message) })
      return
    case 'answered':
      relay.answered(message.sessionId)
      return
    case 'feed':
      feeds.set(message.sessionId, relay.feed(message))
      return
    case 'aside':
      relay.setAside(message.sessionId, message.isAside)
      return
    case 'unshare':
      relay.share(message.room, { endedOf: message.process })
      return
    case 'gone':
      relay.gone(message.process)
      return
    case 'link':
      relay.heard(message.process, message.message)
      return
    case 'endShare':
      relay.endShare(message.peer)
      return
    case 'rest':
      feeds.get(message.sessionId)?.rest()
      return
    case 'tap':
      taps.get(message.sessionId)?.()
      taps.set(message.sessionId, relay.tap(message.sessionId, framePipe(message.sessionId, post)))
      return
    case 'untap':
      taps.get(message.sessionId)?.()
      taps.delete(message.sessionId)
      return
    case 'tracks':
    case 'frame':
    case 'end':
      handleMedia(message)
  }
}

/** What a message leads to that fails ends the session or the feed that it is about. The caller gets no answer late. */
function failed(relay: Relay, error: unknown, message: ToRelay): void {
  const about = message.kind === 'call' ? message.takes : message
  relay.failed(error, 'sessionId' in about ? about.sessionId : undefined)
  if (message.kind === 'call') post({ kind: 'answer', id: message.id, value: undefined })
}

function handleCall(relay: Relay, call: RelayCall): unknown {
  switch (call.method) {
    case 'publish':
      return relay.publish(call.takes)
    case 'view':
      return relay.view(call.takes)
    case 'patch':
      return relay.patch(call.takes.sessionId, call.takes.fragment, call.takes.mayRestart)
    case 'layers':
      return relay.layers(call.takes.sessionId, call.takes.choice)
    case 'share':
      relay.share(call.takes.room, call.takes)
      return null
    case 'shareWithNode':
      return relay.shareWithNode(call.takes)
    case 'end':
      relay.endTogether(call.takes.sessionIds)
      return null
  }
}

function handleMedia(message: Media): void {
  const feed = feeds.get(message.sessionId)
  if (message.kind === 'tracks') feed?.tracks(message.tracks)
  else if (message.kind === 'frame') feed?.frame(message.frame)
  else {
    feed?.end()
    feeds.delete(message.sessionId)
  }
}

/** Our host candidates: the configured addresses, else those of this machine; the loopback if there is nothing else. */
function hostsOf(
  { publicAddresses }: Pick<RelaySettings, 'publicAddresses'>,
  { port, addresses }: UdpPort,
  transports: readonly HostAddress['transport'][],
): HostAddress[] {
  const outside = addresses.filter((address) => !isLoopback(address))
  const announced = publicAddresses.length > 0 ? publicAddresses : outside.length > 0 ? outside : addresses
  return transports.flatMap((transport) =>
    announced.slice(0, MAX_HOSTS).map((address) => ({ transport, address, port })),
  )
}
