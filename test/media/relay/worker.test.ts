import type { ChildProcess } from 'node:child_process'
import { EventEmitter } from 'node:events'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { FromRelay, ToRelay } from '../../../src/media/relay/processes/messages.ts'
import { type ProcessDeath, Worker } from '../../../src/media/relay/processes/worker.ts'

const SETTINGS = { host: '', port: 0, publicAddresses: [], maxBitrate: 1, maxSessions: 1, publisherSilentMs: 1 }

/** A process that does what the test says. */
class ScriptedChild extends EventEmitter {
  readonly pid = 7
  readonly stderr = new EventEmitter()
  readonly sent: ToRelay[] = []
  readonly signals: string[] = []
  connected = true

  send(message: ToRelay, done: () => void): void {
    this.sent.push(message)
    done()
  }
  kill(signal: string): void {
    this.signals.push(signal)
  }
  disconnect(): void {
    this.connected = false
  }
  say(message: FromRelay): void {
    this.emit('message', message)
  }
}

/** How long this process was paused: no timer of it ran. */
let pausedMs = 0

function worker() {
  const child = new ScriptedChild()
  const [received, deaths, notes]: [FromRelay[], ProcessDeath[], unknown[]] = [[], [], []]
  const write = (fields: object, note: string) => notes.push([fields, note])
  const log = { warn: write, error: write }
  const cpu = { ms: 0, isReady: false }
  const made = new Worker({
    settings: SETTINGS,
    looks: {
      cpuMsOf: async (pid) => (pid === child.pid ? cpu.ms : null),
      isReady: async (pid) => pid === child.pid && cpu.isReady,
    },
    log: log as never,
    received: (message) => received.push(message),
    now: () => performance.now() + pausedMs,
    died: (death) => deaths.push(death),
    start: () => child as unknown as ChildProcess,
  })
  const ready = () => child.say({ kind: 'ready', port: 9, linkPort: null, note: null })
  const end = (sessionId: string) => made.call('end', { sessionIds: [sessionId] })
  const calls = () => child.sent.flatMap((message) => (message.kind === 'call' ? [message] : []))
  return { made, child, cpu, received, deaths, notes, ready, end, calls }
}

/** Until promises and `setImmediate` have had their turn. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
/** Time passes, and what the process sent is read before each look. */
async function pass(seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second++) {
    await vi.advanceTimersByTimeAsync(1000)
    await turn()
  }
}
const BEAT = {
  kind: 'beat',
  waits: { meanMs: 0, mostMs: 0, late: 0 },
  load: 0,
  feedback: [],
  links: [],
  faults: null,
} as const
const dead = (detail: string, isHung = false): ProcessDeath => ({ detail, isHung })
async function isPending(promise: Promise<unknown>): Promise<boolean> {
  const pending = {}
  return (await Promise.race([promise, turn().then(() => pending)])) === pending
}

beforeEach(() => {
  pausedMs = 0
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'] })
})
afterEach(() => {
  vi.useRealTimers()
})

test('a process gets its settings, and is ready when it says so; its note is logged', async () => {
  const { made, child, notes, received } = worker()
  expect(child.sent).toEqual([{ kind: 'start', settings: SETTINGS }])
  expect([await isPending(made.ready), made.pid]).toEqual([true, 7])
  child.say({ kind: 'ready', port: 9, linkPort: null, note: 'without the native part' })
  expect(await made.ready).toBe(true)
  expect(notes).toEqual([[{ pid: 7 }, 'without the native part']])
  expect([child.signals, received]).toEqual([[], []])
  const quiet = worker()
  quiet.ready()
  expect(quiet.notes).toEqual([])
})

test('a start that takes a minute on a busy machine is no fault, as long as the process gets on with it', async () => {
  const { made, child, cpu, ready } = worker()
  for (let seconds = 0; seconds < 60; seconds += 10) {
    cpu.ms += 10
    await pass(10)
  }
  expect(child.signals).toEqual([])
  ready()
  expect(await made.ready).toBe(true)
  // From now on only what it says counts.
  cpu.ms += 1000
  await pass(9)
  expect(child.signals).toEqual(['SIGKILL'])
})

test('a process that runs in circles before it listens is killed', async () => {
  const { child, cpu } = worker()
  for (let seconds = 0; seconds < 80; seconds += 1) {
    cpu.ms += 1000
    await pass(1)
  }
  expect(child.signals).toEqual(['SIGKILL'])
})

test('a process that does nothing, and does not listen after 15 s, is killed', async () => {
  const { made, child, deaths } = worker()
  await pass(14)
  expect(child.signals).toEqual([])
  await pass(1)
  expect(child.signals).toEqual(['SIGKILL'])
  child.emit('exit', null, 'SIGKILL')
  expect(await made.ready).toBe(false)
  await turn()
  expect(deaths).toEqual([dead('nothing came from it for 15 s', true)])
})

test('a process that is silent for 8 s hangs and is killed once, and any message shows that it does not', async () => {
  const { child, deaths, ready, received } = worker()
  ready()
  for (const message of [BEAT, { kind: 'answer', id: 99, value: null }] as const) {
    await pass(7)
    child.say(message)
  }
  await pass(7)
  expect([child.signals, received]).toEqual([[], [BEAT]])
  await pass(2)
  expect(child.signals).toEqual(['SIGKILL'])
  child.emit('exit', null, 'SIGKILL')
  await turn()
  expect(deaths).toEqual([dead('nothing came from it for 8 s', true)])
})

test('a process that got no processor for long was taken for one that hangs', async () => {
  const { child, cpu, ready } = worker()
  ready()
  cpu.isReady = true
  await pass(60)
  expect(child.signals).toEqual([])
  child.say(BEAT)
  // What it used before it spoke is of no interest.
  cpu.ms += 10_000
  await pass(60)
  expect(child.signals).toEqual([])
  cpu.isReady = false
  await pass(7)
  expect(child.signals).toEqual([])
  await pass(2)
  expect(child.signals).toEqual(['SIGKILL'])
})

test.each([1000, 100])(
  'a process that runs in circles is killed, though it is ready to run: %d ms of each second',
  async (ms) => {
    const { child, cpu, ready } = worker()
    ready()
    cpu.isReady = true
    for (let seconds = Math.max(8, 3 + 2000 / ms); seconds > 0; seconds -= 1) {
      expect(child.signals).toEqual([])
      cpu.ms += ms
      await pass(1)
    }
    expect(child.signals).toEqual(['SIGKILL'])
  },
)

test('a pause of this process is no fault of the other: nothing is judged before the channel was read', async () => {
  const { child, ready, end, calls } = worker()
  ready()
  const answer = end('a')
  await turn()
  await pass(4)
  pausedMs = 60_000
  await pass(1)
  expect([child.signals, await isPending(answer)]).toEqual([[], true])
  child.say({ kind: 'answer', id: calls()[0]?.id ?? 0, value: 'of a' })
  await pass(7)
  expect([child.signals, await answer]).toEqual([[], 'of a'])
})

test('a call waits until the process is ready, and gets its own answer', async () => {
  const { ready, end, calls, child, received } = worker()
  const answers = [end('a'), end('b')]
  await turn()
  expect(calls()).toEqual([])
  ready()
  await turn()
  expect(calls().map(({ takes }) => takes)).toEqual([{ sessionIds: ['a'] }, { sessionIds: ['b'] }])
  const [first, second] = calls().map(({ id }) => id)
  child.say({ kind: 'answer', id: second ?? 0, value: 'of b' })
  expect(await isPending(answers[0] ?? Promise.resolve())).toBe(true)
  child.say({ kind: 'answer', id: first ?? 0, value: 'of a' })
  child.say({ kind: 'answer', id: first ?? 0, value: 'again' })
  expect([await Promise.all(answers), received]).toEqual([['of a', 'of b'], []])
})

test('a call without an answer ends after 5 s', async () => {
  const { ready, end, calls, child } = worker()
  ready()
  const answer = end('a')
  await turn()
  await pass(4)
  expect(await isPending(answer)).toBe(true)
  await pass(1)
  expect(await answer).toBeUndefined()
  expect(() => child.say({ kind: 'answer', id: calls()[0]?.id ?? 0, value: 'late' })).not.toThrow()
})

test('a message that cannot be handled ended the server', () => {
  const { child, received, notes } = worker()
  const fault = new Error('a fault of ours')
  received.push = () => {
    throw fault
  }
  child.say({ kind: 'end', sessionId: 'a' })
  expect(notes).toEqual([[{ err: fault }, 'a message of a media process could not be handled']])
})

test('what is no answer is passed on', () => {
  const { child, received } = worker()
  const message = { kind: 'end', sessionId: 'a' } as const
  child.say(message)
  expect(received).toEqual([message])
})

test('the death of a process is reported once, with its last words, and ends its calls', async () => {
  const { made, child, deaths, ready, end } = worker()
  ready()
  const answer = end('a')
  await turn()
  child.stderr.emit('data', Buffer.from('x'.repeat(3000)))
  child.emit('exit', 1, null)
  // They may come after the exit.
  child.stderr.emit('data', Buffer.from('the last words\n'))
  await turn()
  expect(await answer).toBeUndefined()
  expect(deaths).toEqual([dead(`exit 1 ${'x'.repeat(2000 - 15)}the last words`)])
  child.emit('error', new Error('later'))
  let isSent = false
  made.post({ kind: 'untap', sessionId: 'a' }, () => (isSent = true))
  expect([deaths.length, isSent, vi.getTimerCount()]).toEqual([1, false, 0])
  await made.stop()
  expect(child.connected).toBe(true)
})

test('a process that cannot be started, or that refuses, says why', async () => {
  const missing = worker()
  missing.child.emit('error', new Error('no such program'))
  expect([await missing.made.ready, missing.deaths]).toEqual([false, [dead('no such program')]])
  expect(await missing.end('a')).toBeUndefined()
  const refusing = worker()
  refusing.child.say({ kind: 'failed', problem: 'the port is taken' })
  expect(refusing.child.signals).toEqual(['SIGKILL'])
  refusing.child.emit('exit', null, 'SIGKILL')
  await turn()
  expect([refusing.deaths, refusing.received]).toEqual([[dead('the port is taken')], []])
})

test('a process that has ended answers no call that comes later', async () => {
  const { child, ready, end } = worker()
  ready()
  child.emit('exit', 1, null)
  await turn()
  expect([await isPending(end('a')), await end('b')]).toEqual([false, undefined])
})

test('a process is stopped by its channel, and killed if it does not exit within 2 s', async () => {
  const { made, child, ready } = worker()
  ready()
  const stopping = made.stop()
  expect(child.connected).toBe(false)
  let isSent = false
  made.post({ kind: 'untap', sessionId: 'a' }, () => (isSent = true))
  await vi.advanceTimersByTimeAsync(1999)
  expect([child.signals, isSent, await isPending(stopping)]).toEqual([[], false, true])
  await vi.advanceTimersByTimeAsync(1)
  expect(child.signals).toEqual(['SIGKILL'])
  child.emit('exit', null, 'SIGKILL')
  await stopping
  const dying = worker()
  dying.child.emit('exit', null, 'SIGKILL')
  // Before its death was reported. No other event comes.
  await dying.made.stop()
  const willing = worker()
  willing.ready()
  const soon = willing.made.stop()
  willing.child.emit('exit', 0, null)
  await soon
  await vi.advanceTimersByTimeAsync(5000)
  expect(willing.child.signals).toEqual([])
})
