import { DatabaseError } from 'pg'
import { expect, test } from 'vitest'
import { StopTimeout } from '../../../src/store/stopTimeout.ts'
import { NotOpened, openingProblem, translatePostgresError, unopened } from '../../../src/store/postgres/errors.ts'
import { Hosts } from '../../../src/store/postgres/hosts.ts'
import { NoTurn } from '../../../src/store/postgres/poolTurns.ts'
import { StorePool } from '../../../src/store/postgres/pool.ts'
import { StoreUnavailable } from '../../../src/store/store.ts'

const ofServer = new NotOpened('timeout: the connection was not opened in time')
const ofTurns = new NoTurn('timeout: no connection came free')

test.each([
  [10, 'all 10 connections of this process to the database are in use; see storage.poolSize'],
  [9, '9 of the 10 connections of this process to the database are in use, and no other was opened in time'],
  [0, 'the database server cannot be reached'],
])('who waited too long for a connection while %i of 10 are in use reads why', (inUse, message) => {
  for (const waited of [ofServer, ofTurns]) {
    const error = unopened(waited, { size: 10, inUse })
    expect(error).toBeInstanceOf(StoreUnavailable)
    expect(error).toMatchObject({ message, cause: waited })
  }
})

test('a pool that is full does not hide that the server refuses or cuts connections', () => {
  const pool = { size: 10, inUse: 10 }
  const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
  for (const error of [refused, new Error('Connection terminated unexpectedly')]) {
    expect(unopened(error, pool)).toMatchObject({ message: 'the database server cannot be reached' })
  }
})

test.each([
  ['28P01', 'password authentication failed for user "sluice"'],
  ['28000', 'role "sluice" is not permitted to log in'],
  ['3D000', 'database "sluice" does not exist'],
  ['53300', 'too many connections for role "sluice"'],
])('a connection that the server refuses with %s is a store that cannot be reached for now', (code, message) => {
  const refused = Object.assign(new DatabaseError(message, message.length, 'error'), { code })
  const error = unopened(refused, { size: 10, inUse: 1 })
  expect(error).toBeInstanceOf(StoreUnavailable)
  expect(error).toMatchObject({ message, cause: refused })
})

test.each([
  [
    new DatabaseError('permission denied for schema public', 35, 'error'),
    '42501',
    'make the user of storage.url the owner of the database',
  ],
  [new DatabaseError('database "x" does not exist', 27, 'error'), '3D000', 'make the database, or correct storage.url'],
  [new DatabaseError('relation "sessions" already exists', 33, 'error'), '42P07', 'choose an empty database'],
  [new Error('unable to verify the first certificate'), 'UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'sslrootcert=FILE'],
  [new Error('connect ECONNREFUSED 192.0.2.1:5432'), 'ECONNREFUSED', 'start it, or correct storage.url'],
])('a database that cannot be opened is named, with the cause and what to do: %s', (refused, code, remedy) => {
  const error = translatePostgresError(Object.assign(refused, { code }))
  const told = openingProblem(error, 'postgres://sluice:secret@db.example.com/x')
  expect(told).toBeInstanceOf(StoreUnavailable)
  const { message } = told as StoreUnavailable
  expect(message).toMatch(/^postgres:\/\/db\.example\.com\/x: .*; /)
  expect(message).toContain(refused.message)
  expect(message).toContain(remedy)
})

test('a connection that is thrown away is not in use while it is being closed', () => {
  const pool = new StorePool(new Hosts('postgres://db.example.com/sluice'), { max: 2 }, new StopTimeout())
  const [one, other] = [{}, {}]
  pool.emit('acquire', one)
  pool.emit('acquire', other)
  pool.emit('release', new Error('broken'), one)
  expect(pool.inUse).toBe(1)
})
