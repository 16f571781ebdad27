import { resolve } from 'node:path'
import { err, ok } from '../base/result.ts'
import type { ChangedSetting, ProvisionChange, ProvisionProblem } from '../core/provisioning/types.ts'
import { type Call, type CommandAnswer, command, type CommandOutcome } from './command.ts'
import { textFlag, toggleFlag } from './flag.ts'
import { usage } from './refusal.ts'
import { withApp } from './session.ts'

const FOLDER = textFlag('DIR', 'The folder of files; `provision.folder` if omitted.')
const PRUNE = toggleFlag('Delete what earlier files made and these do not name.')

const diff = command({
  path: ['provision', 'diff'],
  summary: 'Show what the files of the provisioning folder would change',
  detail:
    'It checks everything that `apply` checks, and changes nothing. Secrets are not shown. The exit status is 1 if a file is wrong.',
  flags: { folder: FOLDER, prune: PRUNE },
  examples: ['sluice provision diff', 'sluice provision diff --folder ./provision --prune --json'],
  run: (call) => run(call, true),
})

const apply = command({
  path: ['provision', 'apply'],
  summary: 'Make the tokens, webhooks and channels that the files of the provisioning folder describe',
  detail: [
    'All of it is applied, or nothing if anything is refused. A second run changes nothing. What the files no longer name is',
    'listed, and deleted only with --prune. A server does the same at its start and at each reload, without --prune.',
  ].join('\n'),
  flags: { folder: FOLDER, prune: PRUNE },
  examples: ['sluice provision apply', 'sluice provision apply --folder ./provision --prune'],
  run: (call) => run(call, false),
})

export const provisionCommands = [diff, apply]

interface Flags {
  folder: string | undefined
  prune: boolean
}

function run(call: Call, isCheck: boolean): CommandOutcome {
  const { folder: given, prune } = call.flags as unknown as Flags
  return withApp(call, async ({ ctx, config }) => {
    const folder = given ?? config.provision.folder
    if (folder === '') return err(usage('there is no folder: set provision.folder, or give one with --folder'))
    const done = await call.host.provision(ctx, resolve(folder), { account: call.globals.account, prune, isCheck })
    return ok(done.ok ? changed(done.value, isCheck) : wrong(done.error))
  })
}

const wrong = (problems: readonly ProvisionProblem[]): CommandAnswer => ({
  json: { ok: false, problems },
  text: ['nothing was changed:', ...problems.map(({ location, message }) => `  ${location}: ${message}`)].join('\n'),
  exitCode: 1,
})

const VERBS = {
  create: ['would create', 'created'],
  update: ['would update', 'updated'],
  delete: ['would delete', 'deleted'],
  left: ['in no file any more, would stay:', 'in no file any more, stays:'],
} as const

function changed(changes: readonly ProvisionChange[], isCheck: boolean): CommandAnswer {
  const lines = changes.flatMap(({ kind, name, verb, settings }) => [
    `${VERBS[verb][isCheck ? 0 : 1]} ${kind}.${name}`,
    ...settings.map((setting) => `  ${settingText(setting)}`),
  ])
  return { json: { ok: true, changes }, text: lines.length === 0 ? 'nothing changed' : lines.join('\n') }
}

const settingText = ({ setting, from, to }: ChangedSetting): string =>
  from === null
    ? `${setting}: ${JSON.stringify(to)}`
    : `${setting}: ${JSON.stringify(from)} becomes ${JSON.stringify(to)}`
