import { type CliCommand, commandName } from './command.ts'
import type { CliFlag, Flags } from './flag.ts'
import { GLOBAL_FLAGS } from './globals.ts'
import type { Terminal } from './host.ts'
import { folded, wrapped } from './width.ts'

/** The purpose of each group. */
export const GROUPS: Readonly<Record<string, string>> = {
  cluster: 'The servers of the database, which are nodes of one cluster',
  node: 'One server',
  provision: 'Tokens, webhooks and channels from files, and into a file',
  key: 'The key that seals token values and other secrets',
  backup: 'Backups of the database; `sluice backup FILE` is short for `sluice backup create FILE`',
  account: 'Accounts: the owners of tokens and streams; the first start creates one',
  secret: 'API secrets: credentials of programs that manage tokens and check access',
  credential: 'Basic credentials (key:secret) of the channels API',
  user: 'Users of the dashboard',
  token: 'Publish and subscribe tokens: the rights to broadcast and to watch',
  pull: 'Sources that Sluice dials, such as cameras',
  restream: 'Targets of publish tokens and engines: other servers that get their media',
  access: 'The access log: refusals and their reasons',
  session: 'Active publishers and viewers',
  stream: 'Streams, with their publishers and viewers',
  recording: 'Recordings, and links that play them',
  channel: 'Channels: from a publisher through renditions to viewers, and their usage',
  'channel-webhook': 'Channel webhooks: their deliveries, tests and redeliveries',
  scheduler: 'Schedulers: when channels start and stop',
  ingest: 'Ingests: the sources of channels',
  webhook: 'Webhooks: the receivers of events, and the log of deliveries',
}

/** Longer lines are hard to read. */
const WIDTH_MAX = 100

/** The help for `path`: everything, a group, or one command. Usage and examples are on one line each, to copy. */
export function helpText(commands: readonly CliCommand[], path: readonly string[], terminal: Terminal | null): string {
  const width = Math.min(terminal?.columns ?? WIDTH_MAX, WIDTH_MAX)
  const under = commands.filter((command) => path.every((word, index) => command.path[index] === word))
  const [only] = under
  if (only && only.path.length === path.length) return commandHelp(only, width)
  return path.length === 0 ? overview(commands, width) : groupHelp(path[0] ?? '', under, width)
}

function overview(commands: readonly CliCommand[], width: number): string {
  const groups = [...new Set(commands.map((command) => command.path[0] ?? ''))]
  const lines = groups.map((name): [string, string] => {
    const own = commands.filter((command) => command.path[0] === name)
    return [name, GROUPS[name] ?? own[0]?.summary ?? '']
  })
  return [
    'Sluice decides who may broadcast and who may watch.',
    '',
    'Usage: sluice COMMAND [FLAGS]',
    '',
    'Commands:',
    ...columns([...lines, ['help', 'Show help: sluice help COMMAND']], width),
    '',
    'Flags of every command:',
    ...columns([...flagLines(GLOBAL_FLAGS), ['--version', 'Print the version.']], width),
    '',
    'Examples:',
    '  sluice serve --data /var/lib/sluice --port 8080',
    '  sluice secret create --name ci',
  ].join('\n')
}

function groupHelp(group: string, commands: readonly CliCommand[], width: number): string {
  const examples = commands.slice(0, 2).map((command) => `  ${command.examples[0]}`)
  return [
    folded(`${GROUPS[group] ?? group}.`, width),
    '',
    `Usage: sluice ${group} COMMAND [FLAGS]`,
    '',
    'Commands:',
    ...columns(
      commands.map((command) => [usageOf(command), command.summary]),
      width,
    ),
    '',
    'Examples:',
    ...examples,
    '',
    `More on one command: sluice ${group} COMMAND --help`,
  ].join('\n')
}

function commandHelp(command: CliCommand, width: number): string {
  const { args, flags, summary, detail, examples } = command
  const own = [...argLines(args), ...flagLines(flags)]
  return [
    folded(`${summary}.`, width),
    ...(detail === undefined ? [] : ['', folded(detail.replaceAll('\n', ' '), width)]),
    '',
    `Usage: sluice ${usageOf(command)} [FLAGS]`,
    ...(own.length === 0 ? [] : ['', 'Flags:', ...columns(own, width)]),
    '',
    'Flags of every command:',
    ...columns(flagLines(GLOBAL_FLAGS), width),
    '',
    'Examples:',
    ...examples.map((example) => `  ${example}`),
  ].join('\n')
}

/** The command with its arguments and its required flags. */
export function usageOf(command: CliCommand): string {
  const words = Object.values(command.args).map((arg) => arg.placeholder)
  const needed = Object.entries(command.flags).filter(([, flag]) => flag.required)
  return [commandName(command), ...words, ...needed.map(([name, flag]) => flagUsage(name, flag))].join(' ')
}

/** `--name NAME`, or `--json` for a switch. */
export const flagUsage = (name: string, flag: CliFlag<unknown>): string =>
  flag.placeholder === '' ? `--${name}` : `--${name} ${flag.placeholder}`

/** The purpose of a flag, and its default. */
export function flagAbout(flag: CliFlag<unknown>): string {
  const remarks = [
    ...(flag.required ? ['required'] : []),
    ...(flag.many ? ['repeatable'] : []),
    ...(flag.default === undefined ? [] : [`default ${flag.default}`]),
  ]
  return remarks.length === 0 ? flag.about : `${flag.about} (${remarks.join(', ')})`
}

const argLines = (args: Flags): [string, string][] => Object.values(args).map((arg) => [arg.placeholder, arg.about])

const flagLines = (flags: Flags): [string, string][] =>
  Object.entries(flags).map(([name, flag]) => [flagUsage(name, flag), flagAbout(flag)])

const LEFT_MAX = 34

/** Two columns. A left side that is too long gets a line of its own. */
function columns(lines: readonly (readonly [string, string])[], width: number): string[] {
  const leftWidth = Math.min(LEFT_MAX, Math.max(0, ...lines.map(([left]) => left.length)))
  const indent = ' '.repeat(leftWidth + 4)
  return lines.flatMap(([left, right]) => {
    const [first = '', ...rest] = wrapped(right, width, indent)
    return left.length > leftWidth
      ? [`  ${left}`, first, ...rest]
      : [`  ${left.padEnd(leftWidth)}  ${first.trimStart()}`, ...rest]
  })
}
