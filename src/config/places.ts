import { hostname } from 'node:os'
import { join, resolve } from 'node:path'
import type { Config } from './schema.ts'

/**
 * Where the data is: what the configuration says (a file path or a `postgres://` URL), or SQLite in the data directory.
 */
export const storageUrl = (config: Config): string => config.storage.url || join(config.data.dir, 'sluice.db')

/** A directory of this machine, among nodes that share the database and not their disks. */
export const hostKeyOf = (dir: string): string => `${hostname()}:${resolve(dir)}`

/** Where recordings are kept. */
export const recordingsDir = (config: Config): string => config.recordings.dir || join(config.data.dir, 'recordings')

/** Where engines write what viewers of distributions get; emptied at each start. */
export const channelsDir = (config: Config): string => join(config.data.dir, 'live')

/** The file of the sealing key; used when `secrets.sealingKey` is empty. */
export const sealingKeyFile = (config: Config): string => join(config.data.dir, 'sealing.key')
