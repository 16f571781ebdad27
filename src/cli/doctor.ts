import { existsSync } from 'node:fs'
import { systemClock } from '../base/clock.ts'
import { ok } from '../base/result.ts'
import { command } from './command.ts'
import { checkClock } from './doctorClock.ts'
import {
  checkAddons,
  checkConfig,
  checkDataDirectory,
  checkNode,
  checkOpenFiles,
  checkTools,
  checkWebhookCertificates,
  type Finding,
} from './doctorMachine.ts'
import { checkCountryDatabase, checkDiskSpace, checkDiskSpeed, checkKernelBuffers } from './doctorDisk.ts'
import { checkMediaPorts, checkPublicAddress } from './doctorNetwork.ts'
import { checkPort, isServing } from './doctorPort.ts'
import { checkProxy } from './doctorProxy.ts'
import { checkVideoEncoders, type TryEncoder } from './doctorEncoders.ts'
import { checkStore } from './doctorStore.ts'
import { checkTime } from './doctorTime.ts'
import { checkTls } from './doctorTls.ts'
import { checkPublicUrl } from './doctorUrl.ts'
import { textFlag } from './flag.ts'
import { table } from './print.ts'
import { quietLogger, readConfig } from './session.ts'
import type { Call } from './command.ts'

const FLAGS = {
  'time-server': textFlag('HOST', 'An NTP server to compare the clock with, as HOST or HOST:PORT.'),
}

/** Checks everything that could keep Sluice from running well, and suggests a remedy. */
export const doctorCommand = command({
  path: ['doctor'],
  summary: 'Check the installation and suggest remedies',
  detail:
    'The exit status is 1 if a line says FAIL. You can run it beside a server. Like any start it migrates the tables ' +
    'of an older version; it changes nothing else. To find the public address it asks the stun: servers of ' +
    '`webrtc.iceServers`. It asks a running server for its health through `server.publicUrl`, and how a proxy there passes ' +
    'addresses on. Each check ends within seconds.',
  flags: FLAGS,
  examples: ['sluice doctor', 'sluice doctor --config /etc/sluice/config.yaml --time-server pool.ntp.org --json'],
  run: async (call) => {
    const findings = await examine(call)
    const failed = findings.some((finding) => finding.outcome === 'FAIL')
    const rows = findings.map(({ outcome, check, detail }) => [outcome, check, detail])
    return ok({
      json: { ok: !failed, checks: findings },
      text: table(['', 'check', 'detail'], rows),
      exitCode: failed ? 1 : 0,
    })
  },
})

async function examine(call: Call<typeof FLAGS>): Promise<Finding[]> {
  const config = readConfig(call)
  const machine = [checkNode(), checkAddons(), ...checkConfig(config)]
  if (!config.ok) return machine
  const directory = checkDataDirectory(config.value)
  const usable = directory.every((finding) => finding.outcome === 'ok')
  const store = usable ? await checkStore(call, config.value) : []
  const clock = usable ? checkClock(config.value) : []
  const disk =
    usable && existsSync(config.value.data.dir)
      ? [...checkDiskSpace(config.value), ...checkDiskSpeed(config.value)]
      : []
  const log = quietLogger(call)
  const tryOne: TryEncoder = (name) => call.host.tryVideoEncoder({ config: config.value, name, log })
  const serves = await isServing(config.value)
  const publicUrl = await checkPublicUrl(config.value, serves, (url) => call.host.askHealth(config.value, url))
  const certificates = checkWebhookCertificates(config.value)
  return [
    ...machine,
    ...directory,
    ...checkOpenFiles(config.value),
    ...store,
    ...clock,
    ...(await checkTime(call.flags['time-server'])),
    ...disk,
    ...certificates,
    ...(await checkTls(config.value, systemClock.now())),
    ...checkCountryDatabase(config.value),
    await checkPort(config.value),
    ...(await checkMediaPorts(config.value, serves)),
    await checkPublicAddress(config.value),
    ...publicUrl.findings,
    ...checkProxy(config.value, publicUrl.report),
    ...checkKernelBuffers(),
    ...(await checkTools(config.value)),
    ...(await checkVideoEncoders(config.value, tryOne)),
  ]
}
