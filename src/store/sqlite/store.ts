import { constants, statSync } from 'node:fs'
import { access, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { type DiskSpace, diskSpaceOf } from '../../base/diskSpace.ts'
import { fileProblem, hasCode } from '../../base/errorCode.ts'
import { fileSize, makeFolder, NEW_FILE, partialOf, publish, removeLeftPartials, withFile } from '../../base/files.ts'
import type { PageCheck } from '../pageCheck.ts'
import { type QueryAnswer, type Query, Executor } from '../executor.ts'
import {
  type DueKinds,
  type DueQuery,
  type Reads,
  type Store,
  StoreUnavailable,
  type TableSize,
  type Tx,
  type WatchListener,
} from '../store.ts'
import { changesSinceSeq } from '../tables/changes.ts'
import { readDue } from '../tables/due.ts'
import { readTime, writePing } from '../tables/meta.ts'
import { largestFirst } from '../tables/tableSizes.ts'
import { readsOf, txOf } from '../verbs.ts'
import { overriding } from '../nouns.ts'
import { Watchers } from '../watchers.ts'
import { CommitQueue } from './commitQueue.ts'
import { SqliteConnection } from './connection.ts'
import { ReportReader } from './reports/reportReader.ts'
import { openingError, translateSqliteError } from './errors.ts'
import { migrateFile } from './migrator.ts'
import { checkPagesInThread, tableSizesInThread } from './inspection/inspectionThread.ts'

/**
 * Opens the file, creates it when it is missing (0600, in a directory 0700), and migrates it to the current schema.
 * @param onLocked as for `migrateFile`
 * @throws StoreUnavailable, UnusableDatabase, and what `onLocked` throws
 */
export async function openSqlite(file: string, onLocked?: () => Promise<void>): Promise<SqliteStore> {
  if (file === '' || file.includes(':memory:')) {
    throw new Error('SQLite needs a file: reads and writes go over two connections')
  }
  await createFile(file)
  try {
    await migrateFile(file, onLocked)
    return new SqliteStore(file)
  } catch (error) {
    throw openingError(translateSqliteError(error), file)
  }
}

/** Two gigabytes: reading them takes seconds. */
const PAGES_MAX = 500_000
/** Of each table of a larger database. */
const ROWS_MAX = 10_000

const WRITING = { readOnly: false, busyTimeoutMs: 20 } as const

/**
 * One connection writes, in groups; another reads committed data, so that reads never wait for writes. A third one reads for reports
 * in a thread, so that nothing waits for these.
 */
class SqliteStore implements Store {
  readonly read: Reads
  readonly #writer: SqliteConnection
  readonly #reader: SqliteConnection
  readonly #reports: ReportReader
  readonly #executor: Executor
  readonly #queue: CommitQueue
  readonly #watchers = new Watchers()
  readonly #file: string
  /** By `identityOf`. */
  readonly #identity: string | null
  #version: number
  #closing: Promise<void> | undefined

  constructor(file: string) {
    this.#file = file
    this.#writer = new SqliteConnection(file, WRITING)
    this.#reader = new SqliteConnection(file, { readOnly: true, busyTimeoutMs: 5_000 })
    this.#queue = new CommitQueue(this.#writer)
    const isOpen = (): boolean => this.#closing === undefined
    this.#executor = new OpenExecutor(this.#reader, isOpen)
    this.#reports = new ReportReader(file)
    this.read = this.#reads(readsOf(this.#executor), readsOf(new OpenExecutor(this.#reports, isOpen)))
    this.#version = this.#writer.dataVersion()
    this.#identity = identityOf(file)
  }

  /** @param there in the thread: what may read very many rows */
  #reads(here: Reads, there: Reads): Reads {
    const { restreamHours, served, usage, viewerTraces } = there
    const accessLog = overriding(here.accessLog, { countCodes: (query) => there.accessLog.countCodes(query) })
    // A job reads the mark every minute, and needs no thread for it.
    const audience = overriding(there.audience, { nextHour: () => here.audience.nextHour() })
    return overriding(here, { accessLog, audience, restreamHours, served, usage, viewerTraces })
  }

  async transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    this.#assertThere()
    return this.#queue.add((session) => work(txOf(session)))
  }

  /** A file that was deleted, moved or replaced can still be written by this process, and all of that would be lost with it. */
  #assertThere(): void {
    const identity = identityOf(this.#file)
    if (identity === this.#identity || identity === UNKNOWN) return
    const why = `the database file ${this.#file} was moved, deleted or replaced: put it back, or start again with another one`
    throw new StoreUnavailable(why, { publicReason: 'the database file is gone' })
  }

  watch(listener: WatchListener): () => void {
    return this.#watchers.add(listener)
  }

  changedRemotely(): boolean {
    // Read on the writer: `data_version` changes with the commits of every connection except its own.
    const version = this.#writer.dataVersion()
    const changed = version !== this.#version
    this.#version = version
    return changed
  }

  changesSince(cursor: string | null): ReturnType<Store['changesSince']> {
    return changesSinceSeq(this.#executor, cursor)
  }

  async due(query: DueQuery): Promise<DueKinds> {
    this.#assertThere()
    return readDue(this.#executor, query)
  }

  diskSpace(): Promise<DiskSpace | null> {
    return diskSpaceOf(dirname(this.#file)).catch(() => null)
  }

  async ping(): Promise<void> {
    this.#assertThere()
    await this.#queue.add(writePing)
    await this.read.accounts.get('')
  }

  time(): Promise<number> {
    return readTime(this.#executor)
  }

  /** SQLite has no server. */
  async connections(): Promise<null> {
    return null
  }

  async tableSizes(): Promise<TableSize[]> {
    return largestFirst(await tableSizesInThread({ file: this.#file, pagesMax: PAGES_MAX, rowsMax: ROWS_MAX }))
  }

  checkPages(): Promise<PageCheck> {
    return checkPagesInThread({ file: this.#file, pagesMax: PAGES_MAX / 2 })
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    this.#watchers.stop()
    await this.#queue.close()
    await this.#reports.close()
    this.#reader.close()
    this.#writer.close()
  }
}

/** This user may not look. */
const UNKNOWN = ''

/**
 * What tells the file of a path from any other, as long as it is open; null: there is none. SQLite compares the same for its
 * rollback journals (`fileHasMoved`), but not for a log.
 */
function identityOf(file: string): string | null {
  try {
    const { dev, ino } = statSync(file)
    return `${dev}:${ino}`
  } catch (error) {
    return hasCode(error, 'ENOENT', 'ENOTDIR') ? null : UNKNOWN
  }
}

/** An executor that refuses queries once the store is closed. */
class OpenExecutor extends Executor {
  readonly #inner: Executor
  readonly #isOpen: () => boolean

  constructor(inner: Executor, isOpen: () => boolean) {
    super(inner.dialect)
    this.#inner = inner
    this.#isOpen = isOpen
  }

  override execute(query: Query): Promise<QueryAnswer> {
    if (!this.#isOpen()) return Promise.reject(new StoreUnavailable('the store is closed'))
    return this.#inner.execute(query)
  }
}

/**
 * Makes the file if it is missing. It gets its name with the head of a database in it: so an empty file is never an
 * installation that has just begun, but one that a copy or a file system has lost, and is refused.
 */
async function createFile(file: string): Promise<void> {
  const size = await fileSize(file)
  if (size === 0) throw new StoreUnavailable(`${file} is empty; ${EMPTY_REMEDY}`)
  try {
    makeFolder(dirname(file))
    // Closing a descriptor of the file would drop the locks that this process has on it, so it is not opened.
    await (size === null ? createDatabase(file) : access(file, constants.R_OK | constants.W_OK))
  } catch (raw) {
    const error = openingError(translateSqliteError(raw), file)
    if (error instanceof StoreUnavailable) throw error
    throw new StoreUnavailable(`the database file ${file} ${fileProblem(error)}`, { cause: error })
  }
}

const EMPTY_REMEDY =
  'if it had an installation, move it away and restore a backup with `sluice restore`; to begin with a new one, delete it'

/** Names of drafts differ also when one process opens a file twice at once. */
let drafts = 0

async function createDatabase(file: string): Promise<void> {
  drafts += 1
  const draft = partialOf(file, `new${drafts}`)
  await removeLeftPartials(file)
  try {
    await withFile(draft, NEW_FILE, async () => new SqliteConnection(draft, WRITING).close())
    await publish(draft, file)
  } catch (error) {
    // Another process was faster.
    if (!hasCode(error, 'EEXIST')) throw error
  } finally {
    await rm(draft, { force: true })
  }
}
