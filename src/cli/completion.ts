import { ok } from '../base/result.ts'
import { type CliCommand, command, commandName } from './command.ts'
import { requiredChoice } from './flag.ts'
import { GLOBAL_FLAGS } from './globals.ts'
import { GROUPS } from './help.ts'

const SHELLS = ['bash', 'zsh', 'fish'] as const
type Shell = (typeof SHELLS)[number]

/** @param commands all commands, this one too */
export const completionCommand = (commands: () => readonly CliCommand[]): CliCommand =>
  command({
    path: ['completion'],
    summary: 'Print the completion of commands and flags for a shell',
    detail: [
      'The Debian package installs it. Otherwise load it in the start file of your shell, as in the examples. For fish:',
      'sluice completion fish > ~/.config/fish/completions/sluice.fish',
    ].join('\n'),
    args: { shell: { ...requiredChoice(SHELLS, 'The shell: bash, zsh or fish.'), placeholder: 'SHELL' } },
    examples: ['source <(sluice completion bash)', 'source <(sluice completion zsh)'],
    run: async ({ args }) => {
      const text = completionScript(commands(), args.shell)
      return ok({ json: { shell: args.shell, script: text }, text })
    },
  })

/** What may come next after these words. */
interface Step {
  readonly words: string
  /** A whole command: only flags and arguments follow it. */
  readonly isCommand: boolean
  readonly next: readonly Candidate[]
}

interface Candidate {
  readonly name: string
  readonly about: string
  readonly takesValue: boolean
}

export function completionScript(commands: readonly CliCommand[], shell: Shell): string {
  const steps = [overview(commands), ...groupsOf(commands), ...commands.map(flagsAfter)]
  return [`# Completion of sluice for ${shell}: sluice completion ${shell}`, ...WRITERS[shell](steps)].join('\n')
}

const word = (name: string, about: string): Candidate => ({ name, about, takesValue: false })

function overview(commands: readonly CliCommand[]): Step {
  const names = [...new Set(commands.map(({ path }) => path[0] ?? ''))]
  const about = (name: string): string => GROUPS[name] ?? commands.find(({ path }) => path[0] === name)?.summary ?? ''
  const next = [...names.map((name) => word(name, about(name))), word('help', 'Show help'), ...globalFlags]
  return { words: '', isCommand: false, next }
}

function groupsOf(commands: readonly CliCommand[]): Step[] {
  const names = [...new Set(commands.filter(({ path }) => path.length > 1).map(({ path }) => path[0] ?? ''))]
  return names.map((name) => {
    const own = commands.filter(({ path }) => path[0] === name)
    return { words: name, isCommand: false, next: own.map(({ path, summary }) => word(path[1] ?? '', summary)) }
  })
}

const flagsAfter = (command: CliCommand): Step => ({
  words: commandName(command),
  isCommand: true,
  next: candidates({ ...command.flags, ...GLOBAL_FLAGS }),
})

const candidates = (flags: CliCommand['flags']): Candidate[] =>
  Object.entries(flags).map(([name, { about, placeholder }]) => ({
    name: `--${name}`,
    about,
    takesValue: placeholder !== '',
  }))

const globalFlags = candidates(GLOBAL_FLAGS)

const WRITERS: Readonly<Record<Shell, (steps: readonly Step[]) => string[]>> = {
  bash: (steps) =>
    [
      '_sluice() {',
      ...TYPED.map((line) => line.replace('WORDS', '"${COMP_WORDS[@]:1:COMP_CWORD-1}"')),
      '  [[ -z $skip ]] || return 0',
      '  local next=',
      '  case $typed in',
      ...steps.map((step) => `    ${pattern(step)}) next='${step.next.map(({ name }) => name).join(' ')}' ;;`),
      '  esac',
      '  mapfile -t COMPREPLY < <(compgen -W "$next" -- "${COMP_WORDS[COMP_CWORD]}")',
      '}',
      'complete -o default -F _sluice sluice',
    ].map((line) => line.replace('SWITCHES', switches(steps).join('|'))),
  zsh: (steps) =>
    [
      '#compdef sluice',
      '_sluice() {',
      ...TYPED.map((line) => line.replace('WORDS', '"${(@)words[2,CURRENT-1]}"')),
      '  [[ -z $skip ]] || { _files; return }',
      '  local -a next',
      '  case $typed in',
      ...steps.map((step) => `    ${pattern(step)}) next=(${step.next.map(described).join(' ')}) ;;`),
      '  esac',
      '  _describe -o sluice next || _files',
      '}',
      'if [[ $funcstack[1] == _sluice ]]; then _sluice "$@"; else compdef _sluice sluice; fi',
    ].map((line) => line.replace('SWITCHES', switches(steps).join('|'))),
  fish: (steps) => [
    ...TYPED_IN_FISH.map((line) => line.replace('SWITCHES', switches(steps).join(' '))),
    ...steps.flatMap(({ words, isCommand, next }) =>
      next.map(
        (one) =>
          `complete -c sluice -n ${quoted(`__sluice_at ${quoted(words)}${isCommand ? ' 1' : ''}`)} ${inFish(one)}`,
      ),
    ),
  ],
}

/** Collects in `typed` the words before the cursor, without flags. `skip` is set if the cursor is at a flag's value. */
const TYPED = [
  '  local typed= skip= word',
  '  for word in WORDS; do',
  '    if [[ -n $skip ]]; then skip=; continue; fi',
  '    case $word in',
  '      SWITCHES|--*=*) ;;',
  '      --*) skip=1 ;;',
  '      *) typed+="${typed:+ }$word" ;;',
  '    esac',
  '  done',
]

/** The same. `$argv[2]`: more words may follow. */
const TYPED_IN_FISH = [
  'function __sluice_at',
  '  set -l typed',
  '  set -l skip ""',
  '  set -l before (commandline -opc)',
  '  for word in $before[2..]',
  '    if test -n "$skip"',
  '      set skip ""',
  '    else',
  '      switch $word',
  "        case SWITCHES '--*=*'",
  "        case '--*'",
  '          set skip 1',
  "        case '*'",
  '          set -a typed $word',
  '      end',
  '    end',
  '  end',
  '  test -z "$skip"; or return 1',
  '  test "$typed" = "$argv[1]"; and return 0',
  '  test -n "$argv[2]"; and string match -q -- "$argv[1] *" "$typed"',
  'end',
]

function switches(steps: readonly Step[]): string[] {
  const flags = steps.flatMap(({ next }) => next).filter(({ name, takesValue }) => name.startsWith('--') && !takesValue)
  return [...new Set(flags.map(({ name }) => name)), '--version']
}

const pattern = ({ words, isCommand }: Step): string => (isCommand ? `'${words}'|'${words} '*` : `'${words}'`)

const quoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`

/** For zsh, which ends the name at a colon. It has no escapes between single quotes. */
const described = ({ name, about }: Candidate): string => `'${`${name}:${about}`.replaceAll("'", "'\\''")}'`

function inFish({ name, about, takesValue }: Candidate): string {
  const what = name.startsWith('--') ? `-l ${name.slice(2)}${takesValue ? ' -r' : ''}` : `-f -a ${name}`
  return `${what} -d ${quoted(about)}`
}
