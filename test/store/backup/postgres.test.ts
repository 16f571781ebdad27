import { expect, test } from 'vitest'
import { databaseProblem, postgresSource } from '../../../src/store/backup/postgres.ts'

test('a server that cannot be reached is named with the cause and what to do, without its password', async () => {
  const url = 'postgres://sluice:secret@127.0.0.1:1/stage'
  const problem =
    /^postgres:\/\/127\.0\.0\.1:1\/stage: the database server cannot be reached \(.*ECONNREFUSED.*\); start it/
  expect(await postgresSource(url)).toEqual({ ok: false, error: expect.stringMatching(problem) })
  expect(await databaseProblem(url)).toMatch(problem)
})
