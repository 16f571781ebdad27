import { randomBytes } from 'node:crypto'
import { Client } from 'pg'
import { inject } from 'vitest'
import './postgres.setup.ts'

/** The server's administration URL, or null without PostgreSQL: `describe.skipIf(!postgresUrl())`. */
export function postgresUrl(): string | null {
  return inject('postgresUrl')
}

/** A database of the server. */
export interface TestDatabase {
  readonly url: string
  /** A connection, which the test ends. */
  readonly connect: () => Promise<Client>
  readonly execute: (sql: string) => Promise<void>
  /** Also ends its connections. */
  readonly drop: () => Promise<void>
}

/** A new, empty database. */
export async function freshDatabase(admin = postgresUrl()): Promise<TestDatabase> {
  if (!admin) throw new Error('there is no PostgreSQL server in this run')
  const name = `t_${randomBytes(8).toString('hex')}`
  await runOn(admin, `create database ${name}`)
  const url = new URL(admin)
  url.pathname = `/${name}`
  return {
    url: url.href,
    connect: () => connectTo(url.href),
    execute: (sql) => runOn(url.href, sql),
    drop: () => runOn(admin, `drop database if exists ${name} with (force)`),
  }
}

/** The test ends it. */
export async function connectTo(url: string): Promise<Client> {
  const client = new Client({ connectionString: url })
  await client.connect()
  return client
}

/** A connection of the test itself, as long as the work takes. */
export async function connected<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = await connectTo(url)
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

const runOn = (url: string, sql: string): Promise<void> =>
  connected(url, async (client) => void (await client.query(sql)))
