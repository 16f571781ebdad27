import { setTimeout } from 'node:timers/promises'
import { err, ok } from '../base/result.ts'
import { isRunning } from '../base/processes.ts'
import { askForReload, type ReloadAnswer, type ReloadedKey } from '../commands/nodes/reload.ts'
import { hostKeyOf } from '../config/dataDirectory.ts'
import type { Config } from '../config/schema.ts'
import { failure } from '../core/errors.ts'
import { type CommandAnswer, command } from './command.ts'
import { toggleFlag } from './flag.ts'
import type { OpenedApp } from './host.ts'
import { withApp } from './session.ts'

type Node = Awaited<ReturnType<OpenedApp['ctx']['store']['read']['nodes']['list']>>[number]
type Answered = readonly [node: Node, answer: ReloadAnswer | null]

/** Makes running servers read their configuration again. */
export const reloadCommand = command({
  path: ['reload'],
  summary: 'Make the running server read its configuration again, and print what changed',
  detail: [
    'The server reads its own file, environment and flags. Each key says in docs/reference/configuration.md whether a reload',
    'applies it; the others that changed are named, and need a restart. If anything is wrong, the server changes nothing and',
    'the exit status is 1. The server is the one of this data directory, or with --all every server of the database.',
  ].join('\n'),
  flags: {
    check: toggleFlag('Change nothing; print what a reload would change.'),
    all: toggleFlag('Every server of this database, also on other machines.'),
  },
  examples: ['sluice reload --check', 'sluice reload --data /var/lib/sluice --json'],
  run: (call) =>
    withApp(call, async ({ ctx, config }) => {
      const nodes = (await ctx.store.read.nodes.list()).filter((node) => call.flags.all || isHere(node, config))
      const serving = nodes.filter((node) => isServing(node, config))
      if (serving.length === 0) return err(failure('unavailable', `no server runs on ${config.data.dir}`))
      const request = { isCheck: call.flags.check, pause: (ms: number) => setTimeout(ms) }
      const answers = serving.map(async (node) => [node, await askForReload(ctx, node.id, request)] as const)
      return ok(answerOf(await Promise.all(answers), call.flags.check))
    }),
})

const isHere = ({ hostKey }: Node, config: Config): boolean => hostKey === hostKeyOf(config.data.dir)

/** The lease of a process that was killed may still be valid for a while. */
const isServing = (node: Node, config: Config): boolean =>
  isHere(node, config) ? isRunning(node.pid) : !node.isExpired

function answerOf(answers: readonly Answered[], isCheck: boolean): CommandAnswer {
  const json = answers.map(([{ id, hostKey, pid }, answer]) => ({
    node: id,
    host: hostKey,
    pid,
    ...(answer ?? SILENT),
  }))
  const text = answers.map(([{ hostKey, pid }, answer]) => {
    const lines = linesOf(answer ?? SILENT, isCheck)
    return answers.length === 1
      ? lines.join('\n')
      : [`${hostKey} (process ${pid})`, ...lines.map((line) => `  ${line}`)].join('\n')
  })
  return { json, text: text.join('\n'), exitCode: json.every((answer) => answer.ok) ? 0 : 1 }
}

const SILENT: ReloadAnswer = {
  ok: false,
  applied: [],
  needRestart: [],
  problems: ['the server did not answer within 20 seconds; its log says why'],
}

function linesOf({ ok: isOk, applied, needRestart, problems }: ReloadAnswer, isCheck: boolean): string[] {
  if (!isOk) return ['nothing was changed:', ...problems.map((problem) => `  ${problem}`)]
  if (applied.length + needRestart.length === 0) return ['nothing changed']
  return [
    ...applied.map((change) => `${isCheck ? 'would apply' : 'applied'} ${changeText(change)}`),
    ...needRestart.map((change) => `needs a restart: ${changeText(change)}`),
  ]
}

const changeText = ({ key, from, to }: ReloadedKey): string =>
  `${key}: ${JSON.stringify(from)} is ${JSON.stringify(to)} now`
