import { stat } from 'node:fs/promises'
import { diskSpaceOf } from '../base/diskSpace.ts'
import { fileSize } from '../base/files.ts'
import { folderUse } from '../base/folderUse.ts'
import { channelsDir, isPostgres, recordingsDir, storageUrl } from '../config/paths.ts'
import type { Config } from '../config/schema.ts'
import type { StoragePart, StorageSurvey, StorageVolume } from '../edge/http/about/serverStorage.ts'
import { backupsFolder } from '../store/backup/migrationCopy.ts'
import type { TableSize } from '../store/store.ts'
import type { App } from './app.ts'

/** Looking at one takes some ten microseconds. Of folders with more, the survey says so. */
const ENTRIES_MAX = 50_000
const TABLES_MAX = 10
/** Requests get the same survey for this long. */
const VALID_MS = 60_000

/** What fills the disks of this node. Requests share a survey, and the last one stands for a minute. */
export class LocalStorage {
  readonly #app: App
  #last: { readonly atMs: number; readonly survey: Promise<StorageSurvey> } | null = null

  constructor(app: App) {
    this.#app = app
  }

  read(): Promise<StorageSurvey> {
    const atMs = this.#app.ctx.clock.monotonic()
    if (this.#last === null || atMs - this.#last.atMs >= VALID_MS) {
      const survey = this.#survey()
      this.#last = { atMs, survey }
      survey.catch(() => (this.#last = null))
    }
    return this.#last.survey
  }

  async #survey(): Promise<StorageSurvey> {
    const { config, ctx } = this.#app
    const tables = await ctx.store.tableSizes()
    return {
      atMs: ctx.clock.now(),
      volumes: await volumesOf([config.data.dir, recordingsDir(config)]),
      parts: [
        isPostgres(config) ? inServer(tables) : await inFiles(storageUrl(config)),
        // Thumbnails of recordings lie beside them.
        ...(await partsIn(recordingsDir(config), ['recordings', 'thumbnails'], kindOfRecording)),
        ...(await partsIn(channelsDir(config), ['channels'], () => 'channels')),
        ...(isPostgres(config) ? [] : await partsIn(backupsOf(config), ['backups'], () => 'backups')),
      ],
      tables: tables.filter(({ rows }) => rows > 0).slice(0, TABLES_MAX),
    }
  }
}

const backupsOf = (config: Config): string => backupsFolder(storageUrl(config))

const kindOfRecording = (name: string) => (name.endsWith('.jpeg') ? 'thumbnails' : 'recordings')

const inServer = (tables: readonly TableSize[]): StoragePart => ({
  part: 'database',
  files: 0,
  bytes: tables.reduce((sum, { bytes }) => sum + (bytes ?? 0), 0),
  hasMore: false,
})

async function inFiles(database: string): Promise<StoragePart> {
  const sizes = await Promise.all(['', '-wal', '-shm'].map((part) => fileSize(database + part)))
  const found = sizes.filter((size) => size !== null)
  return { part: 'database', files: found.length, bytes: found.reduce((sum, size) => sum + size, 0), hasMore: false }
}

async function partsIn<Kind extends StoragePart['part']>(
  dir: string,
  kinds: readonly Kind[],
  kindOf: (name: string) => Kind,
): Promise<StoragePart[]> {
  const { of, hasMore } = await folderUse(dir, { kinds, kindOf, entriesMax: ENTRIES_MAX })
  return [...of].map(([part, sum]) => ({ part, ...sum, hasMore }))
}

/** Directories on the same disk share an entry. */
async function volumesOf(dirs: readonly string[]): Promise<StorageVolume[]> {
  const volumes = new Map<number, StorageVolume>()
  for (const dir of new Set(dirs)) {
    const found = await stat(dir).catch(() => null)
    if (found === null) continue
    const same = volumes.get(found.dev)
    const space = await diskSpaceOf(dir).catch(() => null)
    if (space !== null) volumes.set(found.dev, { directories: [...(same?.directories ?? []), dir], ...space })
  }
  return [...volumes.values()]
}
