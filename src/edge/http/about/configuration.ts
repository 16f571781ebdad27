import { type Static, Type } from 'typebox'
import type { ListedKey } from '../../../config/holder.ts'
import { reportedNode } from '../fieldSchemas.ts'

/** The configuration that this node runs with, and what became of its sources since. */
export interface ConfigurationReport {
  readonly keys: readonly ListedKey[]
  /** Keys that a reload would change, and those that a restart would; in dotted form. */
  readonly waiting: { readonly reload: readonly string[]; readonly restart: readonly string[] }
  /** What is wrong with the sources as they are now. A start would fail. */
  readonly problems: readonly string[]
}

/** Every key with its source. Secrets never leave, in no form. */
export const configurationRecord = (
  node: string,
  { keys, waiting, problems }: ConfigurationReport,
): Static<typeof Configuration> => ({
  node,
  keys: keys.map(toRecord),
  waiting: { reload: [...waiting.reload], restart: [...waiting.restart] },
  problems: [...problems],
})

function toRecord({ value, default: usual, origin, ...facts }: ListedKey): Static<typeof ConfigurationKey> {
  const source = origin === null ? ({ source: 'default' } as const) : { source: origin.kind, sourceName: origin.name }
  return { ...facts, ...source, ...(facts.isSecret ? {} : { value, default: usual }) }
}

/** Text, a number, a switch or a list of texts. */
const value = (description: string) => Type.Optional(Type.Unsafe<unknown>({ description }))

const ConfigurationKey = Type.Object({
  key: Type.String({ examples: ['server.port'] }),
  value: value('Absent for a secret. A credential in a list is `(secret)`.'),
  isSecret: Type.Boolean({ description: 'Its value is never sent. `source` says whether it is set.' }),
  source: Type.Enum(['default', 'file', 'environment', 'flag']),
  sourceName: Type.Optional(
    Type.String({ description: 'File and line, or the variable.', examples: ['/etc/sluice/config.yaml:12'] }),
  ),
  needsRestart: Type.Boolean({ description: 'A reload does not apply a new value.' }),
  default: value('Absent for a secret.'),
  variable: Type.String({ description: 'The environment variable.', examples: ['SLUICE_SERVER_PORT'] }),
  about: Type.String(),
  allowed: Type.String({ description: 'The allowed values, in words.' }),
})

const keysOf = (description: string) => Type.Array(Type.String(), { description })

export const Configuration = Type.Object({
  node: reportedNode,
  keys: Type.Array(ConfigurationKey),
  waiting: Type.Object(
    {
      reload: keysOf('A reload changes them: `sluice reload`.'),
      restart: keysOf('A restart changes them.'),
    },
    { description: 'Keys whose sources have another value now than the node runs with.' },
  ),
  problems: keysOf('What is wrong with the sources now: neither a reload nor a start succeeds.'),
})
