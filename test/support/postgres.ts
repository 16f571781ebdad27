import { randomBytes } from 'node:crypto'
import { Client } from 'pg'
import { inject } from 'vitest'
import './postgres.setup.ts'

/** The server's administration URL, or null without PostgreSQL: `describe.skipIf(!postgresUrl())`. */
export function postgresUrl(): string | null {
  return inject('postgresUrl')
}

/** A new, empty database. `drop` also ends its connections. */
export async function freshDatabase(admin = postgresUrl()): Promise<{ url: string; drop: () => Promise<void> }> {
  if (!admin) throw new Error('there is no PostgreSQL server in this run')
  const name = `t_${randomBytes(8).toString('hex')}`
  await runOn(admin, `create database ${name}`)
  const url = new URL(admin)
  url.pathname = `/${name}`
  return { url: url.href, drop: () => runOn(admin, `drop database if exists ${name} with (force)`) }
}

async function runOn(url: string, sql: string): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(sql)
  } finally {
    await client.end()
  }
}
