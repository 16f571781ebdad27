import { type CliCommand, commandName } from './command.ts'
import type { Flags } from './flag.ts'
import { GLOBAL_FLAGS } from './globals.ts'
import { flagAbout, flagUsage, GROUPS, usageOf } from './help.ts'

/** The reference part of docs/reference/command-line.md, as Markdown. */
export function referenceMarkdown(commands: readonly CliCommand[]): string {
  const groups = [...new Set(commands.map((command) => command.path[0] ?? ''))]
  const sections = groups.map((group) =>
    section(
      group,
      commands.filter((command) => command.path[0] === group),
    ),
  )
  return ['## Flags of every command', '', flagTable({}, GLOBAL_FLAGS), '', ...sections].join('\n')
}

function section(group: string, commands: readonly CliCommand[]): string {
  const about = GROUPS[group]
  const head = about === undefined ? [] : [`## ${group}`, '', `${about}.`, '']
  const level = about === undefined ? '##' : '###'
  return [...head, ...commands.map((command) => entry(command, level))].join('\n')
}

function entry(command: CliCommand, level: string): string {
  const { summary, detail, args, flags, examples } = command
  const hasTable = Object.keys({ ...args, ...flags }).length > 0
  return [
    `${level} ${commandName(command)}`,
    '',
    `${summary}.${detail === undefined ? '' : ` ${detail.replaceAll('\n', ' ')}`}`,
    '',
    '```sh',
    `sluice ${usageOf(command)}`,
    '```',
    '',
    ...(hasTable ? [flagTable(args, flags), ''] : []),
    'For example:',
    '',
    '```sh',
    ...examples,
    '```',
    '',
  ].join('\n')
}

function flagTable(args: Flags, flags: Flags): string {
  const rows = [
    ...Object.values(args).map((arg) => [arg.placeholder, flagAbout(arg)]),
    ...Object.entries(flags).map(([name, flag]) => [flagUsage(name, flag), flagAbout(flag)]),
  ]
  const lines = rows.map(([left = '', right = '']) => `| \`${escaped(left)}\` | ${escaped(right)} |`)
  return ['| | |', '|---|---|', ...lines].join('\n')
}

/** A bar ends a table cell, even inside of code. An asterisk before a host is not emphasis. */
const escaped = (text: string): string => text.replaceAll('|', '\\|').replaceAll('*.', '\\*.')
