import { join } from 'node:path'
import { isPostgresUrl } from '../base/postgresUrl.ts'
import type { Config } from './schema.ts'

/** The location of the database: the configured file path or `postgres://` URL, or SQLite in the data directory. */
export const storageUrl = (config: Config): string => config.storage.url || join(config.data.dir, 'sluice.db')

/** The name of the machine in such a key. */
export const machineOf = (hostKey: string): string => hostKey.split(':', 1)[0] ?? ''

/** The directory of recordings. */
export const recordingsDir = (config: Config): string => config.recordings.dir || join(config.data.dir, 'recordings')

/** The output directory of engines, for viewers of distributions. It is emptied at each start. */
export const channelsDir = (config: Config): string => join(config.data.dir, 'channels')

/** The file with the sealing key; used when `secrets.sealingKey` is empty. */
export const sealingKeyFile = (config: Config): string => join(config.data.dir, 'sealing.key')

/** The next key while a rotation is under way. */
export const nextKeyFile = (config: Config): string => `${sealingKeyFile(config)}.next`

/** The key before the last rotation. Backups from then need it. */
export const previousKeyFile = (config: Config): string => `${sealingKeyFile(config)}.previous`

/** The certificate authority of `tls.selfSigned`, with its key. */
export const authorityFile = (config: Config): string => join(config.data.dir, 'tls', 'authority.pem')

export const isPostgres = (config: Config): boolean => isPostgresUrl(storageUrl(config))
