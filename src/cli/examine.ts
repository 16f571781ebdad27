import { existsSync } from 'node:fs'
import type { Result } from '../base/result.ts'
import { systemClock } from '../base/clock.ts'
import type { ConfigProblem } from '../config/problem.ts'
import type { Config } from '../config/schema.ts'
import { type Finding, found } from '../core/examination.ts'
import { checkClock } from './doctorClock.ts'
import { checkCountryDatabase, checkDiskSpace, checkDiskSpeed, checkKernelBuffers } from './doctorDisk.ts'
import { checkVideoEncoders, type TryEncoder } from './doctorEncoders.ts'
import {
  checkAddons,
  checkConfig,
  checkDataDirectory,
  checkMemory,
  checkNode,
  checkOpenFiles,
  checkRecordingsDirectory,
  checkTools,
  checkWebhookCertificates,
} from './doctorMachine.ts'
import { checkMediaPorts, checkPublicAddress } from './doctorNetwork.ts'
import { checkHosts, checkPort, isServing } from './doctorPort.ts'
import { checkProxy } from './doctorProxy.ts'
import { checkStore, ownServer, type WithStore } from './doctorStore.ts'
import { checkTime } from './doctorTime.ts'
import { checkTls } from './doctorTls.ts'
import { checkPublicUrl } from './doctorUrl.ts'
import type { HealthAnswer } from './host.ts'
import type { AddressesOf } from './udpQuestion.ts'

/** What the checks use besides the configuration. */
export interface Examiner {
  readonly withStore: WithStore
  readonly tryEncoder: TryEncoder
  readonly addressesOf: AddressesOf
  readonly askHealth: (url: string) => Promise<HealthAnswer>
  /** To compare the clock with; undefined: with none. */
  readonly timeServer: string | undefined
  /** This process serves. False: another one may. */
  readonly isServer: boolean
}

/** The checks that need no configuration, and what is wrong with the sources of it. */
export const examineMachine = (read: Result<Config, readonly ConfigProblem[]>): Finding[] => [
  checkNode(),
  checkAddons(),
  ...checkConfig(read),
]

/** Checks everything that could keep Sluice from running well with this configuration. Each check ends within seconds. */
export async function examine(config: Config, examiner: Examiner): Promise<Finding[]> {
  const directory = checkDataDirectory(config)
  const usable = directory.every((finding) => finding.outcome === 'ok')
  const store = usable ? await checkStore(config, examiner.withStore) : []
  const clock = usable ? checkClock(config) : []
  const disk =
    usable && existsSync(config.data.dir) ? [...checkDiskSpace(config), ...(await checkDiskSpeed(config))] : []
  const serves = examiner.isServer || (await isServing(config))
  const port = examiner.isServer
    ? ownPort(config)
    : await checkPort(config, () => ownServer(config, examiner.withStore))
  const publicUrl = await checkPublicUrl(config, serves, examiner.askHealth)
  return [
    ...directory,
    ...checkRecordingsDirectory(config),
    ...checkOpenFiles(config, examiner.isServer ? 'here' : serves ? 'elsewhere' : 'none'),
    checkMemory(config),
    ...store,
    ...clock,
    ...(await checkTime(examiner.timeServer, examiner.addressesOf)),
    ...disk,
    ...checkWebhookCertificates(config),
    ...(await checkTls(config, systemClock.now())),
    ...checkCountryDatabase(config),
    port,
    ...checkHosts(config),
    ...(await checkMediaPorts(config, serves || port.code === 'port_hangs')),
    await checkPublicAddress(config, examiner.addressesOf),
    ...publicUrl.findings,
    ...checkProxy(config, publicUrl.report),
    ...checkKernelBuffers(),
    ...(await checkTools(config)),
    ...(await checkVideoEncoders(config, examiner.tryEncoder)),
  ]
}

const ownPort = ({ server: { host, port } }: Config): Finding => found('ok', 'port', 'port_own', { host, port })
