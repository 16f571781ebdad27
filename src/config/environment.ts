import { quote } from '../base/quote.ts'
import { type ConfigProblem, nearest } from './problem.ts'
import { allKeys, environmentName } from './schema.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** The text of a key in the environment. */
export interface EnvironmentSetting {
  readonly path: string
  readonly text: string
  readonly source: string
}

/** Variables that begin with SLUICE_ and are not keys. */
export const OTHER_VARIABLES = { SLUICE_CONFIG: 'the configuration file to read' } as const

const pathOf = new Map(allKeys().map(([path]) => [environmentName(path), path]))

/** Sorts the SLUICE_ variables into settings and problems. It ignores other variables. */
export function readEnvironment(env: Environment): { settings: EnvironmentSetting[]; problems: ConfigProblem[] } {
  const ours = Object.entries(env).filter(
    ([name, text = '']) => name.startsWith('SLUICE_') && !(name in OTHER_VARIABLES) && !isServiceLink(name, text),
  )
  const settings: EnvironmentSetting[] = []
  const problems: ConfigProblem[] = []
  for (const [name, text] of ours) {
    const path = pathOf.get(name)
    if (text === undefined) continue
    if (path !== undefined) settings.push({ path, text, source: name })
    else problems.push(unknownVariable(name))
  }
  return { settings, problems }
}

/**
 * Kubernetes and container links describe services called `sluice` or `sluice-rtmp` to every container beside them, with
 * variables such as SLUICE_SERVICE_HOST=10.0.0.7 and SLUICE_RTMP_PORT=tcp://10.0.0.7:1935. They are neither keys nor misspelt.
 */
function isServiceLink(name: string, text: string): boolean {
  if (/_SERVICE_(HOST|PORT(_[A-Z0-9_]+)?)$/.test(name)) return true
  if (name.endsWith('_PORT')) return /^(tcp|udp|sctp):\/\//.test(text)
  return /_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/.test(name)
}

/** More would be a list to read, not a hint. */
const MEANT_MAX = 3

/** The variables that a name without its section may mean: for SLUICE_PORT those that end with it. */
function withSection(name: string): string | undefined {
  const meant = [...pathOf.keys()].filter((one) => one.replace(/^SLUICE_[A-Z0-9]+_/, 'SLUICE_') === name)
  return meant.length === 0 ? undefined : meant.slice(0, MEANT_MAX).join(' or ')
}

function unknownVariable(name: string): ConfigProblem {
  const guess = withSection(name) ?? nearest(name, [...pathOf.keys(), ...Object.keys(OTHER_VARIABLES)])
  const reason = guess === undefined ? 'is not known' : `is not known; did you mean ${guess}?`
  return { key: '', source: quote(name).slice(1, -1), reason }
}
