import { rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { exists, makeFolder } from '../base/files.ts'
import { err, ok, type Result } from '../base/result.ts'
import { VERSION } from '../base/version.ts'
import { isPostgres, storageUrl } from '../config/paths.ts'
import { failure, type Failure } from '../core/errors.ts'
import type { Said } from '../core/notices.ts'
import type { BackupDesk, BackupState, LatestBackup } from '../edge/http/about/backup.ts'
import { withBackupFile } from '../store/backup/backupFile.ts'
import { makeBackupInThread } from '../store/backup/backupThread.ts'
import { refusalOf, roomProblem } from '../store/backup/make.ts'
import { backupsFolder } from '../store/backup/migrationCopy.ts'
import type { App } from './app.ts'

/** Left for the server, beside what the backup needs. */
const SPARE_BYTES = 500_000_000

/**
 * Makes backups on request, one at a time, and keeps the last. They have no key in them, because they leave the machine by
 * a browser.
 */
export class LocalBackups implements BackupDesk {
  readonly #app: App
  readonly #folder: string
  readonly #stop = new AbortController()
  #running: Promise<void> | null = null
  #problem: Said | null = null
  #isReserved = false

  constructor(app: App) {
    this.#app = app
    this.#folder = backupsFolder(storageUrl(app.config))
  }

  /** Replaced by a complete one at once. */
  get file(): string {
    return join(this.#folder, 'latest.tar')
  }

  async read(): Promise<BackupState> {
    return {
      engine: isPostgres(this.#app.config) ? 'postgres' : 'sqlite',
      isRunning: this.#running !== null,
      problem: this.#problem,
      latest: isPostgres(this.#app.config) ? null : await this.#latest(),
    }
  }

  async begin(record: () => Promise<void>): Promise<Result<true, Failure>> {
    if (isPostgres(this.#app.config)) return err(failure('conflict', USE_PG_DUMP))
    if (this.#running !== null) return err(failure('conflict', 'A backup is being made'))
    this.#problem = null
    const recorded = record()
    this.#running = recorded
      .then(
        () => this.#make(),
        () => undefined,
      )
      .finally(() => (this.#running = null))
    await recorded
    return ok(true)
  }

  reserve(): (() => void) | null {
    if (this.#isReserved) return null
    this.#isReserved = true
    return () => (this.#isReserved = false)
  }

  async close(): Promise<void> {
    this.#stop.abort()
    await this.#running
  }

  async #make(): Promise<void> {
    const made = await this.#replace().catch((error: unknown) => err(refusalOf(error, this.#folder)))
    if (made.ok || this.#stop.signal.aborted) return
    this.#problem = made.error
    this.#app.ctx.log.warn({ problem: made.error.message }, 'a backup could not be made')
  }

  async #replace(): Promise<Result<unknown, Said>> {
    const { config, ctx } = this.#app
    makeFolder(this.#folder)
    const database = storageUrl(config)
    const room = await roomProblem(this.#folder, 2 * (await stat(database)).size + SPARE_BYTES)
    if (room !== null) return err(room)
    // A process that was killed may have left it.
    const file = join(this.#folder, 'next.tar')
    await rm(file, { force: true })
    const job = { database, file, version: VERSION, nowMs: ctx.clock.now(), secrets: { keys: [], authority: null } }
    const made = await makeBackupInThread(job, this.#stop.signal)
    if (made.ok) await rename(file, this.file)
    return made
  }

  async #latest(): Promise<LatestBackup | null> {
    const { file } = this
    if (!(await exists(file))) return null
    const { size } = await stat(file)
    const read = await withBackupFile(file, async ({ manifest }) => ok({ ...manifest, bytes: size }))
    return read.ok ? read.value : null
  }
}

const USE_PG_DUMP =
  'The data is in PostgreSQL: run `sluice backup FILE` where pg_dump is installed, or use the backups of your database server'
