import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { err, ok } from '../../src/base/result.ts'
import { command, type CommandOutcome } from '../../src/cli/command.ts'
import { COMMANDS } from '../../src/cli/commands.ts'
import type { Host, OpenedApp } from '../../src/cli/host.ts'
import { type Columns, listing, WATCH_FLAGS } from '../../src/cli/listing.ts'
import { withApp } from '../../src/cli/session.ts'
import { failure } from '../../src/core/errors.ts'
import { run } from './fakeHost.ts'

const COLUMNS: Columns<number> = { count: ['text', (count) => count] }
const answered = (count: number) => ok({ json: [count], text: listing(COLUMNS, [count]) })
const AWAY = new Error('the database server cannot be reached')

type Step = (host: Host) => CommandOutcome

interface Watched {
  readonly steps: readonly Step[]
  readonly flags?: readonly string[]
  readonly columns?: number
  readonly world?: Partial<Host>
}

/** Watches a command that does one step at each look, and requests a stop in the pause after the last. */
async function watched({ steps, flags = [], columns, world = {} }: Watched) {
  const clock = new ManualClock(Date.parse('2026-01-31T12:00:00.000Z'))
  const { promise: stop, resolve } = Promise.withResolvers<string>()
  const pauses: number[] = []
  let looks = 0
  const count = command({
    path: ['count'],
    summary: 'Count',
    flags: WATCH_FLAGS,
    examples: ['sluice count', 'sluice count --watch'],
    run: ({ host }) => {
      looks += 1
      return steps[looks - 1]?.(host) ?? Promise.reject(new Error('one look too many'))
    },
  })
  const sleep = async (ms: number, signal?: AbortSignal) => {
    pauses.push(ms)
    clock.advance(ms)
    if (looks < steps.length) return
    resolve('SIGINT')
    await new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason as Error)))
  }
  const host: Partial<Host> = {
    clock: { now: () => clock.now(), monotonic: () => clock.monotonic(), sleep },
    stopRequested: () => stop,
    terminal: () => (columns === undefined ? null : { columns, rows: 6 }),
    ...world,
  }
  const ran = await run(['count', '--watch', ...flags], host, [count])
  return { ...ran, pauses, looks }
}

const answers =
  (count: number): Step =>
  async () =>
    answered(count)
const fails: Step = () => Promise.reject(AWAY)

describe('--watch', () => {
  it('shows the answers one after another with a pause after each, until a stop, with exit status 0', async () => {
    const { status, stdout, stderr, pauses } = await watched({ steps: [answers(1), answers(2)] })
    expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: 'count\n1\n\ncount\n2\n', stderr: '' })
    expect(pauses).toEqual([2000, 2000])
  })

  it('prints one line of JSON for each answer', async () => {
    const { stdout } = await watched({ steps: [answers(1), answers(2)], flags: ['--json'] })
    expect(stdout).toBe('[1]\n[2]\n')
  })

  it('prints one table of comma-separated values, with the time of each answer', async () => {
    const { stdout } = await watched({ steps: [answers(1), answers(2)], flags: ['--csv'] })
    expect(stdout.split('\r\n')).toEqual(['time,count', '2026-01-31T12:00:00.000Z,1', '2026-01-31T12:00:02.000Z,2', ''])
    const none: Step = async () => ok({ json: [], text: listing(COLUMNS, []) })
    const empty = await watched({ steps: [none, none], flags: ['--csv'] })
    expect(empty.stdout.split('\r\n')).toEqual([
      'time,count',
      '2026-01-31T12:00:00.000Z,',
      '2026-01-31T12:00:02.000Z,',
      '',
    ])
  })

  it('draws over the answer before on a terminal, and no line beyond it', async () => {
    const many: Step = async () => ok({ json: [], text: listing(COLUMNS, [1, 2, 3, 4]) })
    const { stdout } = await watched({ steps: [answers(1), many], columns: 30 })
    expect(stdout.split('\u001b[H')).toEqual([
      '\u001b[2J',
      '2026-01-31 12:00:00 UTC  ever…\u001b[K\n\u001b[K\ncount\u001b[K\n1\u001b[K\n\u001b[J',
      '2026-01-31 12:00:02 UTC  ever…\u001b[K\n\u001b[K\ncount\u001b[K\n1\u001b[K\n… 3 more\u001b[K\n\u001b[J',
    ])
  })

  it('goes on over failures and says so once, also when it works again', async () => {
    const steps = [answers(1), fails, fails, answers(2)]
    const { status, stdout, stderr } = await watched({ steps })
    expect({ status, stdout }).toEqual({ status: 0, stdout: 'count\n1\n\ncount\n2\n' })
    expect(stderr).toBe(`sluice: ${AWAY.message}; trying again\nsluice: works again\n`)
    expect(await watched({ steps, flags: ['--json'] })).toMatchObject({ stdout: '[1]\n[2]\n', stderr: '' })
    const drawn = (await watched({ steps: [answers(1), fails], columns: 100 })).stdout.split('\u001b[H')
    expect(drawn.at(-1)).toContain(`2026-01-31 12:00:00 UTC  ${AWAY.message}; trying again, Ctrl+C ends it`)
    expect(drawn.at(-1)).toContain('count\u001b[K\n1\u001b[K\n')
  })

  it('ends like the command without it if the first answer is a refusal or a failure', async () => {
    const refused = async () => err(failure('bad_request', 'no such thing'))
    expect(await watched({ steps: [refused, answers(1)] })).toMatchObject({
      status: 1,
      stderr: 'sluice: no such thing\n',
      looks: 1,
    })
    expect(await watched({ steps: [fails, answers(1)] })).toMatchObject({
      status: 1,
      stderr: `sluice: ${AWAY.message}\n`,
      looks: 1,
    })
  })

  it('gives up after 150 failures in a row, and not after fewer', async () => {
    const steps = (failures: number) => [answers(1), ...Array.from({ length: failures }, () => fails), answers(2)]
    expect(await watched({ steps: [...steps(100), ...steps(100)] })).toMatchObject({ status: 0, looks: 204 })
    expect(await watched({ steps: steps(149) })).toMatchObject({ status: 0, looks: 151 })
    expect(await watched({ steps: steps(150) })).toMatchObject({ status: 1, looks: 151 })
  })

  it('ends while an answer does not come, and while standard output takes nothing', async () => {
    let resolve: (signal: string) => void = () => undefined
    const stopRequested = () => new Promise<string>((done) => (resolve = done))
    const hangs: Step = () => {
      resolve('SIGINT')
      return new Promise(() => undefined)
    }
    expect(await watched({ steps: [hangs], world: { stopRequested } })).toMatchObject({ status: 0, stdout: '' })
    const stdoutDrained = () => {
      resolve('SIGINT')
      return new Promise(() => undefined)
    }
    expect(await watched({ steps: [answers(1), fails], world: { stopRequested, stdoutDrained } })).toMatchObject({
      status: 0,
      looks: 1,
    })
  })

  it('opens Sluice once for all answers, again after a failure, and closes it at the end', async () => {
    const calls: string[] = []
    const openApp = async (): Promise<OpenedApp> => {
      calls.push('open')
      return { config: {}, ctx: {}, close: async () => void calls.push('close') } as unknown as OpenedApp
    }
    const looking =
      (outcome: Step): Step =>
      (host) =>
        withApp({ host, globals: {}, flags: {}, args: {} } as never, async () => {
          calls.push('look')
          return outcome(host)
        })
    const steps = [answers(1), answers(2), fails, answers(3)].map(looking)
    expect((await watched({ steps, world: { openApp } })).status).toBe(0)
    expect(calls.join(' ')).toBe('open look look look close open look close')
  })

  it('leaves out log lines, which --verbose shows', async () => {
    const logging: Step = async (host) => {
      host.stderr('a job failed\n')
      return answered(1)
    }
    expect((await watched({ steps: [logging] })).stderr).toBe('')
    expect((await watched({ steps: [logging], flags: ['--verbose'] })).stderr).toBe('a job failed\n')
  })

  it('is a flag of what changes by itself', () => {
    const names = COMMANDS.filter(({ flags }) => flags['watch'] !== undefined).map(({ path }) => path.join(' '))
    expect(names).toEqual([
      'cluster status',
      'restream show',
      'restream events',
      'access log',
      'session list',
      'stream list',
      'stream show',
      'stream health',
      'recording list',
      'webhook deliveries',
      'channel list',
      'channel events',
      'scheduler list',
      'channel-webhook log',
    ])
  })
})
