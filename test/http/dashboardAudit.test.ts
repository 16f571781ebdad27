import { afterAll, beforeAll, expect, test } from 'vitest'
import { audit, cliActor } from '../../src/commands/context.ts'
import { runApp, type RunningApp } from '../support/app.ts'
import { type Browser, browserOf } from '../support/dashboard.ts'

let running: RunningApp
let admin: Browser
beforeAll(async () => {
  running = await runApp()
  admin = await browserOf(running)
})
afterAll(() => running.close())

const T = Date.parse('2026-03-01T12:00:00Z')

async function changed(atMs: number, subject: string): Promise<void> {
  const change = { action: 'thing.change', subject, before: { label: '=1+1' }, after: { label: 'two, "three"\n' } }
  await running.app.ctx.store.transaction((tx) => audit(tx, cliActor(running.accountId), atMs, change))
}

test('the audit log names who changed what, by name, and is filtered and paged', async () => {
  const token = { label: 'Show', streams: [{ streamName: 'show' }] }
  const { id } = (await admin.call('POST', '/publish_token', token)).json.data
  await running.call('POST', '/api/publish_token', token)
  const mine = (await admin.call('GET', `/audit?actor=user:${admin.id}&action=publish_token.create`)).json
  expect(mine.data).toEqual([
    {
      id: expect.any(Number),
      at: expect.any(String),
      actor: { kind: 'user', id: admin.id, name: admin.email },
      address: '127.0.0.1',
      requestId: expect.any(String),
      action: 'publish_token.create',
      subject: String(id),
      after: expect.objectContaining({ label: 'Show' }),
    },
  ])
  expect(JSON.stringify(mine)).not.toMatch(/[0-9a-f]{64}/)
  const all = (await admin.call('GET', '/audit?action=publish_token.create&limit=1')).json
  expect(all.data[0].actor).toMatchObject({ kind: 'secret', name: expect.stringMatching(/^test /) })
  const next = await admin.call('GET', `/audit?action=publish_token.create&limit=1&cursor=${all.pagination.cursor}`)
  expect(next.json.data).toEqual(mine.data)
  expect(next.json.pagination).toEqual({ hasMore: false })
  const other = await admin.call('GET', `/audit?limit=1&cursor=${all.pagination.cursor}`)
  expect([other.status, other.json.data.message]).toEqual([400, expect.stringMatching(/^invalid_cursor/)])
})

test('a page after rows of one moment repeats none and leaves none out', async () => {
  for (let at = 0; at < 5; at++) await changed(T, `same ${at}`)
  const seen: string[] = []
  let cursor = ''
  do {
    const path = `/audit?from=2026-03-01&until=2026-03-02&limit=2${cursor}`
    const { data, pagination } = (await admin.call('GET', path)).json
    seen.push(...data.map(({ subject }: { subject: string }) => subject))
    cursor = pagination.hasMore ? `&cursor=${pagination.cursor}` : ''
  } while (cursor !== '')
  expect(seen).toEqual(['same 4', 'same 3', 'same 2', 'same 1', 'same 0'])
})

test('wrong filters are named with what is allowed', async () => {
  const answer = await admin.call('GET', '/audit?actor=someone&action=all&from=yesterday&limit=0')
  expect(answer.status).toBe(400)
  expect(Object.keys(answer.json.data.errors)).toEqual(['actor', 'action', 'from', 'limit'])
})

test('with Accept: text/csv it is a file that no spreadsheet runs, within the same filters', async () => {
  await changed(Date.parse('2026-04-01T00:00:00Z'), '＝cmd()')
  const path = '/audit?from=2026-04-01&until=2026-04-02'
  const { headers, text } = await admin.call('GET', path, undefined, { accept: 'text/csv' })
  expect(headers.get('content-type')).toBe('text/csv; charset=utf-8')
  expect(headers.get('content-disposition')).toBe('attachment; filename="audit.csv"')
  const [head, row, ...more] = text.split('\r\n')
  expect(head).toBe('id,at,actor,name,address,requestId,action,subject,before,after')
  const cells = `"{""label"":""=1+1""}","{""label"":""two, \\""three\\""\\n""}"`
  expect(row).toMatch(/^\d+,2026-04-01T00:00:00\.000Z,cli,,,,thing\.change,'＝cmd\(\),/)
  expect(row?.endsWith(cells)).toBe(true)
  expect(more).toEqual([''])
})

test('a viewer reads who changed what, but not the fields', async () => {
  const viewer = await browserOf(running, 'viewer')
  const url = 'https://hooks.example.com/key-in-the-path'
  await admin.call('POST', '/webhooks', { url })
  const path = '/audit?action=webhook.create'
  expect((await admin.call('GET', path)).text).toContain('key-in-the-path')
  const seen = await viewer.call('GET', path)
  expect(seen.json.data).toHaveLength(1)
  expect(Object.keys(seen.json.data[0])).not.toEqual(expect.arrayContaining(['after']))
  expect(seen.text).not.toContain('key-in-the-path')
  const file = await viewer.call('GET', path, undefined, { accept: 'text/csv' })
  expect(file.text).toContain('webhook.create')
  expect(file.text).not.toContain('key-in-the-path')
})

test('rows of another account are not in it', async () => {
  await running.app.ctx.store.transaction((tx) =>
    audit(tx, cliActor('zzzzzz'), T, { action: 'other.change', subject: '1' }),
  )
  expect((await admin.call('GET', '/audit?action=other.change')).json.data).toEqual([])
})
