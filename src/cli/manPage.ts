import { type CliCommand, commandName } from './command.ts'
import type { CliFlag, Flags } from './flag.ts'
import { GLOBAL_FLAGS } from './globals.ts'
import { flagAbout, flagUsage, GROUPS, usageOf } from './help.ts'

/** The page that `man sluice` shows, in the macros of man(7). */
export function manPage(commands: readonly CliCommand[], version: string): string {
  return [
    `.TH SLUICE 1 "" "Sluice ${version}" "User Commands"`,
    '.SH NAME',
    'sluice \\- live streaming that decides who may broadcast and who may watch',
    '.SH SYNOPSIS',
    '.B sluice',
    '.I COMMAND',
    '[\\fIFLAGS\\fR]',
    '.SH DESCRIPTION',
    'Starts the server, and does what its operator does. Every command has help:',
    '.B sluice help',
    '.IR COMMAND .',
    '.SH FLAGS OF EVERY COMMAND',
    ...flagList({}, GLOBAL_FLAGS),
    '.SH COMMANDS',
    ...commands.flatMap((command, index) => [...groupHead(commands[index - 1], command), ...entry(command)]),
    ...CLOSING,
    '',
  ].join('\n')
}

const CLOSING = [
  '.SH FILES',
  '.TP',
  '.I /etc/sluice/config.yaml',
  'The configuration of the Debian package. Every key with its default: /usr/share/doc/sluice/config.default.yaml.',
  '.TP',
  '.I /var/lib/sluice',
  'The data of the Debian package: database, sealing key, recordings.',
  '.SH ENVIRONMENT',
  '.TP',
  '.B SLUICE_CONFIG',
  'The configuration file. Each key has a variable too: server.port is SLUICE_SERVER_PORT.',
  '.SH EXIT STATUS',
  '0: done, or allowed. 1: refused, or failed. 2: wrong usage.',
]

function groupHead(before: CliCommand | undefined, { path: [group = ''] }: CliCommand): string[] {
  const about = GROUPS[group]
  return about === undefined || before?.path[0] === group ? [] : ['.PP', `${escaped(about)}.`]
}

const entry = (command: CliCommand): string[] => [
  `.SS ${escaped(commandName(command))}`,
  `${escaped(command.summary)}.`,
  ...(command.detail === undefined ? [] : ['.PP', ...escaped(command.detail).split('\n')]),
  '.PP',
  `.B sluice ${escaped(usageOf(command))}`,
  ...flagList(command.args, command.flags),
  '.PP',
  'For example:',
  '.PP',
  '.nf',
  ...command.examples.map(escaped),
  '.fi',
]

const flagList = (args: Flags, flags: Flags): string[] => [
  ...Object.values(args).flatMap((arg) => item(arg.placeholder, arg)),
  ...Object.entries(flags).flatMap(([name, flag]) => item(flagUsage(name, flag), flag)),
]

const item = (usage: string, flag: CliFlag<unknown>): string[] => [
  '.TP',
  `.B ${escaped(usage)}`,
  escaped(flagAbout(flag)),
]

/** A backslash begins an escape, a bare hyphen is typographic, and a line that begins with a dot or a quote is a request. */
const escaped = (text: string): string =>
  text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll(/^(?=[.'])/gm, '\\&')
