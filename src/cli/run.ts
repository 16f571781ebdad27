import { operatorText } from '../base/errorCode.ts'
import { jsonLine, printableLines } from './print.ts'
import { type CommandAnswer, type CliCommand, commandName } from './command.ts'
import { COMMANDS } from './commands.ts'
import { helpText } from './help.ts'
import { type Host, withProgram } from './host.ts'
import { outputOf, type OutputForm } from './output.ts'
import { parse, type Request } from './parse.ts'
import { exitCodeOf, type CliRefusal, furtherReading, refusalJson, refusalText, usage } from './refusal.ts'
import { watch } from './watch.ts'
import { displayOf } from './watchDisplay.ts'

/** Runs one command line. Returns the exit status: 0 done, 1 refused or failed, 2 wrong usage. Never rejects. */
export async function runCli(
  argv: readonly string[],
  host: Host,
  commands: readonly CliCommand[] = COMMANDS,
): Promise<number> {
  const request = parse(commands, argv)
  // A command line that cannot be parsed may still request JSON.
  if (!request.ok) {
    const { message, path } = request.error
    return refuse(host, argv.includes('--json'), usage(message), [host.program, ...path, '--help'].join(' '))
  }
  return answer(request.value, host, commands)
}

async function answer(request: Request, host: Host, commands: readonly CliCommand[]): Promise<number> {
  if (request.kind === 'run') return runCommand(request, host)
  if (request.kind === 'version') {
    return print(host, jsonOrText(request.json), { json: { version: host.version }, text: host.version })
  }
  const help = helpText(commands, request.path, host.terminal())
  if (request.asked) return print(host, jsonOrText(request.json), { json: { help }, text: help })
  const missing = usage('a command is missing')
  if (request.json) return refuse(host, true, missing)
  host.stderr(`${help}\n`)
  return exitCodeOf(missing)
}

const jsonOrText = (json: boolean): OutputForm => (json ? 'json' : 'text')

type CommandRequest = Extract<Request, { kind: 'run' }>

async function runCommand(request: CommandRequest, host: Host): Promise<number> {
  const { command, flags, globals } = request
  const { json, verbose: isVerbose } = globals
  const help = `${host.program} ${commandName(command)} --help`
  if (json && flags['csv'] === true) return refuse(host, true, usage('--json and --csv exclude each other'))
  const form = flags['csv'] === true ? 'csv' : jsonOrText(json)
  const runIn = (world: Host) => command.run({ ...request, host: world })
  try {
    if (flags['watch'] === true) {
      const watched = await watch({ host, look: runIn, display: displayOf(host, form), isVerbose })
      return watched.ok ? 0 : refuse(host, json, watched.error, help)
    }
    const outcome = await runIn(host)
    return outcome.ok ? print(host, form, outcome.value) : refuse(host, json, outcome.error, help)
  } catch (error) {
    return fail(host, globals, error)
  }
}

function print(host: Host, form: OutputForm, answer: CommandAnswer): number {
  const output = outputOf(answer, form, host)
  if (output !== '') host.stdout(output)
  if (form !== 'json') {
    if (answer.note !== undefined) say(host, answer.note)
    if (answer.hint !== undefined && host.stderrIsTerminal) say(host, answer.hint)
  }
  return answer.exitCode ?? 0
}

function refuse(host: Host, json: boolean, refusal: CliRefusal, help?: string): number {
  if (json) host.stderr(jsonLine(refusalJson(refusal)))
  else {
    say(host, `sluice: ${refusalText(refusal)}`)
    const further = furtherReading(refusal, help)
    if (further !== null && (refusal.code === 'usage' || host.stderrIsTerminal)) host.stderr(`${further}\n`)
  }
  return exitCodeOf(refusal)
}

/** A fault or an unreachable resource. Prints one line; the stack only with --verbose. */
function fail(host: Host, { json, verbose }: { json: boolean; verbose: boolean }, error: unknown): number {
  const { stack } = error instanceof Error ? error : new Error(String(error))
  const line = operatorText(error).split('\n')[0] || 'failed without a message'
  if (json) host.stderr(jsonLine({ code: 'failed', message: line, ...(verbose ? { stack } : {}) }))
  else say(host, `sluice: ${line}${verbose ? `\n${stack}` : ''}`)
  return 1
}

/** Messages may quote what is stored, and so what others chose. */
const say = (host: Host, text: string): void =>
  host.stderr(`${printableLines(withProgram(text, host), host.stderrIsTerminal)}\n`)
