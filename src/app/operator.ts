import { type Clock, inTime } from '../base/clock.ts'
import { err, ok, type Result } from '../base/result.ts'
import { VERSION } from '../base/version.ts'
import type { Reloading } from '../cli/host.ts'
import { NodeReporting } from '../commands/nodes/nodeReports.ts'
import { formatConfigProblem } from '../config/problem.ts'
import { failure, type Failure } from '../core/errors.ts'
import { type Examination, examination } from '../core/examination.ts'
import type { ConfigurationReport } from '../edge/http/about/configuration.ts'
import type { DatedExamination, Doctor } from '../edge/http/about/doctor.ts'
import { nodeReports } from '../edge/http/about/reports.ts'
import type { App } from './app.ts'
import { LocalStorage } from './storageSurvey.ts'
import type { Tls } from './tls.ts'
import { tryVideoEncoder } from './videoEncoder.ts'

type ReadConfig = Reloading['readConfig']

/** What nodes say of themselves to operators. */
export function openReporting(app: App, readConfig: ReadConfig, tls: Tls | null | undefined): NodeReporting {
  const { ctx } = app
  const storage = new LocalStorage(app)
  const own = nodeReports(ctx, {
    version: VERSION,
    configuration: () => configurationOf(app, readConfig),
    doctor: doctorOf(app, readConfig),
    storage: () => storage.read(),
    countryFile: () => app.countries.file,
    ...(tls ? { https: tls } : {}),
  })
  return new NodeReporting(ctx, () => ctx.sessions.node, own)
}

/** The configuration of this node, beside its sources as they are now. */
function configurationOf({ holder }: App, readConfig: ReadConfig): ConfigurationReport {
  const next = readConfig()
  const changes = next.ok ? holder.compare(next.value) : { applied: [], needRestart: [] }
  return {
    keys: holder.list(),
    waiting: { reload: changes.applied.map(({ key }) => key), restart: changes.needRestart.map(({ key }) => key) },
    problems: next.ok ? [] : next.error.map(formatConfigProblem),
  }
}

/** The checks of `sluice doctor` on the running configuration, with the store that is open. */
function doctorOf(app: App, readConfig: ReadConfig): Doctor {
  const { ctx } = app
  return new OneByOne(ctx.clock, async () => {
    // Loaded by the first examination.
    const [{ examine, examineMachine }, { addressesForDoctor, askHealth }] = await Promise.all([
      import('../cli/examine.ts'),
      import('./health.ts'),
    ])
    const { config } = app
    const findings = await examine(config, {
      withStore: (check) => check(ctx),
      tryEncoder: (name) => tryVideoEncoder({ config, name, log: ctx.log }),
      addressesOf: addressesForDoctor,
      askHealth: (url) => askHealth(config, url),
      timeServer: undefined,
      isServer: true,
    })
    return examination([...examineMachine(readConfig()), ...findings])
  })
}

/** All checks together hardly ever take half as long. */
const TIMEOUT_MS = 60_000
const TOO_SLOW = 'The checks have not ended within a minute. They go on: look again later.'

/** Runs one examination at a time, which those who ask meanwhile share, and keeps the last. */
class OneByOne implements Doctor {
  readonly #clock: Clock
  readonly #run: () => Promise<Examination>
  #running: Promise<Result<DatedExamination, Failure>> | null = null
  latest: DatedExamination | null = null

  constructor(clock: Clock, run: () => Promise<Examination>) {
    this.#clock = clock
    this.#run = run
  }

  async examine(): Promise<Result<DatedExamination, Failure>> {
    this.#running ??= this.#examine().finally(() => (this.#running = null))
    const done = await inTime(this.#clock, TIMEOUT_MS, this.#running)
    return done ?? err(failure('unavailable', TOO_SLOW))
  }

  async #examine(): Promise<Result<DatedExamination, Failure>> {
    const done = await this.#run()
    this.latest = { ...done, atMs: this.#clock.now() }
    return ok(this.latest)
  }
}
