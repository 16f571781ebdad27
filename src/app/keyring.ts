import { loadOrCreateKeyFile, readKeyFile } from '../base/keyfile.ts'
import { isRunning } from '../base/processes.ts'
import type { Random } from '../base/random.ts'
import { err, ok, type Result } from '../base/result.ts'
import type { CommandContext } from '../commands/context.ts'
import { nodesWithUnknownKey } from '../commands/keys/reseal.ts'
import { hostKeyOf, lostKey } from '../config/dataDirectory.ts'
import { nextKeyFile, previousKeyFile, sealingKeyFile } from '../config/paths.ts'
import type { Config } from '../config/schema.ts'
import type { Node } from '../store/store.ts'

/** The keys of this installation. The first one seals; each opens. */
export type Keyring = readonly [sealing: Buffer, ...others: Buffer[]]

/** Whether the keys are in files of the data directory, and not in the configuration. */
export const hasKeyFiles = (config: Config): boolean => config.secrets.sealingKey === ''

/** Reads the keys, and creates the first one if there is none. @returns a sentence for the operator if it cannot */
export function openKeyring(config: Config, random: Random): Result<Keyring, string> {
  // Before the keys are read: another process that starts may create both meanwhile, the key first and then the database.
  const lost = lostKey(config)
  const keys = readKeyring(config)
  if (!keys.ok) return keys
  const [first, ...others] = keys.value
  if (first !== undefined) return ok([first, ...others])
  if (lost !== null) return err(lost)
  const created = loadOrCreateKeyFile(sealingKeyFile(config), random)
  return created.ok ? ok([created.value]) : created
}

/**
 * Reads the keys without creating one. During a rotation the next key comes first, so that a server that starts meanwhile
 * already seals with it.
 */
export function readKeyring(config: Config): Result<Buffer[], string> {
  if (!hasKeyFiles(config)) return ok(configuredKeys(config))
  const keys: Buffer[] = []
  for (const file of [nextKeyFile(config), sealingKeyFile(config), previousKeyFile(config)]) {
    const key = readKeyFile(file)
    if (!key.ok) return key
    if (key.value !== null) keys.push(key.value)
    // Without this, a lost key would silently be replaced with an older one.
    else if (file === sealingKeyFile(config) && keys.length === 0) return lostBeside(config)
  }
  return ok(keys)
}

function lostBeside(config: Config): Result<Buffer[], string> {
  const previous = readKeyFile(previousKeyFile(config))
  if (!previous.ok || previous.value === null) return previous.ok ? ok([]) : previous
  return err(
    `${sealingKeyFile(config)} is missing beside ${previousKeyFile(config)}; restore it from a backup: without it Sluice cannot open its values`,
  )
}

const configuredKeys = ({ secrets }: Config): Buffer[] =>
  [secrets.sealingKey, secrets.previousSealingKey].filter((key) => key !== '').map((key) => Buffer.from(key, 'base64'))

/** Whether a node was a process of this machine that no longer runs. Its lease may still be valid for a while. */
export const isGoneFrom =
  ({ data }: Config) =>
  ({ hostKey, pid }: Node): boolean =>
    hostKey === hostKeyOf(data.dir) && !isRunning(pid)

/** Why this process may not use the database: a server of it seals with a key that is unknown here. Null: it may. */
export async function otherKeyProblem(ctx: CommandContext, config: Config): Promise<string | null> {
  const [node] = await nodesWithUnknownKey(ctx, isGoneFrom(config))
  if (node === undefined) return null
  const remedy = 'set secrets.sealingKey to the key of that server'
  return `the server at ${node.hostKey} has another sealing key than this process, so neither could open what the other seals: ${remedy}`
}
