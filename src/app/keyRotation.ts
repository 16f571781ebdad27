import { renameSync } from 'node:fs'
import { dirname } from 'node:path'
import { exists, syncFolder } from '../base/files.ts'
import { loadOrCreateKeyFile, readKeyFile, replaceKeyFile } from '../base/keyfile.ts'
import type { Logger } from '../base/log.ts'
import { systemRandom } from '../base/random.ts'
import { err, ok, type Result } from '../base/result.ts'
import type { RotatedKey } from '../cli/host.ts'
import { nodesWithOtherKey, resealAll } from '../commands/keys/reseal.ts'
import { isPostgres, nextKeyFile, previousKeyFile, sealingKeyFile, storageUrl } from '../config/paths.ts'
import type { Config } from '../config/schema.ts'
import type { Node } from '../store/store.ts'
import { type App, openApp } from './app.ts'
import { hasKeyFiles, isGoneFrom } from './keyring.ts'

interface Rotation {
  readonly config: Config
  readonly log: Logger
  /** Called after each transaction with the number of values so far. */
  readonly progress?: (values: number) => void
}

/**
 * Seals everything with a new key. Until it is done, the new key is in a file beside the old one, and every start knows
 * both, so it may be killed at any moment and run again.
 * @returns what was done, or a sentence
 */
export async function rotateSealingKey(rotation: Rotation): Promise<Result<RotatedKey, string>> {
  const { config } = rotation
  if (!isPostgres(config) && !(await exists(storageUrl(config))))
    return err(`there is no database ${storageUrl(config)}`)
  const begun = hasKeyFiles(config) ? await beginWithFiles(rotation) : beginConfigured(config)
  if (!begun.ok) return begun
  const done = await withApp(rotation, (app) => resealWith(app, rotation))
  if (done.ok && hasKeyFiles(config)) await finish(config)
  return done
}

/** Makes the next key, unless an earlier rotation did. No server may run that does not know it. */
async function beginWithFiles(rotation: Rotation): Promise<Result<void, string>> {
  const { config } = rotation
  if (await exists(nextKeyFile(config))) return ok(undefined)
  const free = await withApp(rotation, async ({ ctx }) => {
    const nodes = (await ctx.store.read.nodes.list()).filter((node) => !node.isExpired && !isGoneFrom(config)(node))
    return nodes.length === 0 ? ok(undefined) : err(stopFirst(config, nodes))
  })
  if (!free.ok) return free
  const next = loadOrCreateKeyFile(nextKeyFile(config), systemRandom)
  return next.ok ? ok(undefined) : next
}

function beginConfigured({ secrets }: Config): Result<void, string> {
  if (secrets.previousSealingKey !== '' && secrets.previousSealingKey !== secrets.sealingKey) return ok(undefined)
  return err(
    'the key is in secrets.sealingKey. Make a new one (openssl rand -base64 32), set secrets.previousSealingKey to it on every ' +
      'node, and restart the nodes one after the other. Then swap the two keys, restart them again, and run this. If no server ' +
      'runs, begin with the keys swapped',
  )
}

async function resealWith({ config, ctx }: App, { progress }: Rotation): Promise<Result<RotatedKey, string>> {
  const others = () => nodesWithOtherKey(ctx, isGoneFrom(config))
  const before = await others()
  if (before.length > 0) return err(stopFirst(config, before))
  const values = await resealAll(ctx, progress)
  if (!values.ok) return values
  // A server that started with the old key meanwhile may have sealed with it.
  const after = await others()
  return after.length === 0 ? ok({ keyId: ctx.sealer.keyId, values: values.value }) : err(stopFirst(config, after))
}

/** The old key stays for the backups from before. A crash between the steps leaves the rotation unfinished, not half. */
async function finish(config: Config): Promise<void> {
  const present = readKeyFile(sealingKeyFile(config))
  if (!present.ok) throw new Error(present.error)
  if (present.value !== null) replaceKeyFile(previousKeyFile(config), present.value, systemRandom)
  renameSync(nextKeyFile(config), sealingKeyFile(config))
  await syncFolder(dirname(sealingKeyFile(config)))
}

async function withApp<T>(
  { config, log }: Rotation,
  work: (app: App) => Promise<Result<T, string>>,
): Promise<Result<T, string>> {
  const app = await openApp({ config, log })
  try {
    return await work(app)
  } finally {
    await app.close()
  }
}

function stopFirst(config: Config, nodes: readonly Node[]): string {
  const names = nodes.map(({ hostKey, pid }) => `process ${pid} at ${hostKey}`).join(', ')
  return hasKeyFiles(config)
    ? `a server runs that does not know the new key (${names}); stop it, and run this again`
    : `a server still seals with another key (${names}); swap its keys and restart it, and run this again`
}
