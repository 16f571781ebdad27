import { join } from 'node:path'
import type { Config } from './schema.ts'

/** The address of the store: what the configuration says, or SQLite in the data directory. */
export const storeUrl = (config: Config): string =>
  config.store.url === '' ? `sqlite:${join(config.data.dir, 'sluice.db')}` : config.store.url

/** The file of the sealing key; used when `secrets.sealingKey` is empty. */
export const sealingKeyFile = (config: Config): string => join(config.data.dir, 'sealing.key')
