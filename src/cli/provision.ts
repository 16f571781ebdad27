import { resolve } from 'node:path'
import { stringify } from 'yaml'
import { newFileProblem } from '../base/errorCode.ts'
import { writeNewFile } from '../base/files.ts'
import { err, ok } from '../base/result.ts'
import { type Exported, exportAccount } from '../commands/provisioning/export.ts'
import { failure } from '../core/errors.ts'
import { labelOf } from '../core/provisioning/names.ts'
import type { ChangedSetting, ProvisionChange, ProvisionProblem } from '../core/provisioning/types.ts'
import { type Call, type CommandAnswer, command, type CommandOutcome } from './command.ts'
import { required, textFlag, toggleFlag } from './flag.ts'
import { usage } from './refusal.ts'
import { withAccount, withApp } from './session.ts'

const FOLDER = textFlag('DIR', 'The folder of files; `provision.folder` if omitted.')
const PRUNE = toggleFlag('Delete what earlier files made and these do not name.')

const diff = command({
  path: ['provision', 'diff'],
  summary: 'Show what the files of the provisioning folder would change',
  detail:
    'It checks everything that `apply` checks, and changes nothing. Secrets are not shown. The exit status is 1 if a file is wrong.',
  flags: { folder: FOLDER, prune: PRUNE },
  examples: ['sluice provision diff', 'sluice provision diff --folder ./provision --prune --json'],
  run: (call) => run(call, { isCheck: true }),
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
  run: (call) => run(call, { isCheck: false }),
})

const exportCommand = command({
  path: ['provision', 'export'],
  summary: 'Write the tokens, webhooks and channels of an account to a new file that `apply` reads',
  detail: [
    'The file has the values of tokens, the secrets of webhooks, stream keys and keys of viewers, so that clients and publishers',
    'go on with a new installation. Keep it secret: only its owner can read it. The command says what is not in the file.',
    'Stop the servers first, because what changes meanwhile may be missing. `-` prints the file.',
  ].join('\n'),
  args: { file: required('FILE', 'The file, which does not exist yet; `-`: standard output.') },
  examples: ['sluice provision export old.yaml', 'sluice provision export - --account a1b2c3'],
  run: (call) =>
    withAccount<CommandAnswer>(call, async ({ ctx, accountId }) => {
      const { file } = call.args
      const exported = await exportAccount(ctx, accountId)
      const counts = countsOf(exported)
      const note = ['Not in it:', ...exported.left.map((line) => `- ${line}`)].join('\n')
      if (file === '-') return ok({ json: exported.sections, text: textOf(exported).trimEnd(), note })
      const problem = await writeSecret(file, textOf(exported))
      if (problem !== null) return err(failure('conflict', problem))
      const said = Object.entries(counts).map(([kind, count]) => `${count} ${kind}`)
      return ok({ json: { file, counts, left: exported.left }, text: `wrote ${said.join(', ')} to ${file}`, note })
    }),
})

const countsOf = ({ sections }: Exported): Record<string, number> =>
  Object.fromEntries(Object.entries(sections).map(([kind, things]) => [kind, Object.keys(things).length]))

/** The file, with what it lacks as comments. Long texts stay on their lines, and nothing is an alias. */
function textOf({ sections, left }: Exported): string {
  const filled = Object.fromEntries(Object.entries(sections).filter(([, things]) => Object.keys(things).length > 0))
  const lines = [
    '# Holds secrets: keep it as you keep passwords.',
    '# Not in it:',
    ...left.map((line) => `# - ${line}`),
  ]
  return `${lines.join('\n')}\n${stringify(filled, { aliasDuplicateObjects: false, lineWidth: 0 })}`
}

/** Writes a new file that only its owner can read. Returns why it cannot; null: it is written. */
async function writeSecret(file: string, text: string): Promise<string | null> {
  try {
    await writeNewFile(file, text)
    return null
  } catch (error) {
    return newFileProblem(error, file)
  }
}

export const provisionCommands = [diff, apply, exportCommand]

interface Flags {
  folder: string | undefined
  prune: boolean
}

function run(call: Call, { isCheck }: { readonly isCheck: boolean }): CommandOutcome {
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
    `${VERBS[verb][isCheck ? 0 : 1]} ${labelOf({ kind, name })}`,
    ...settings.map((setting) => `  ${settingText(setting)}`),
  ])
  return { json: { ok: true, changes }, text: lines.length === 0 ? 'nothing changed' : lines.join('\n') }
}

/** What is hidden is so before and after. */
const settingText = ({ setting, from, to }: ChangedSetting): string =>
  from === null || from === to
    ? `${setting}: ${JSON.stringify(to)}`
    : `${setting}: ${JSON.stringify(from)} becomes ${JSON.stringify(to)}`
