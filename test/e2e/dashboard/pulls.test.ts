import { expect, test } from 'vitest'
import { axe, useDashboard } from './dashboard.ts'

const dashboard = useDashboard()

test('sources are added, changed, switched off and deleted on the page of their token, without their passwords', async () => {
  const { id } = await dashboard.token('publish', { label: 'Doors', streams: [{ streamName: 'door' }] })
  const page = await dashboard.open(`/tokens/publish/${id}`)
  const card = page.locator('section.card', { has: page.getByRole('heading', { name: 'Sources' }) })
  const dialog = page.getByRole('dialog')
  const inDialog = (label: string) => dialog.locator('.field', { hasText: label }).locator('input')
  const stored = async () => (await dashboard.api('GET', '/api/pulls')).data
  await card.getByRole('button', { name: 'Add a source' }).click()
  await inDialog('Address').fill('http://camera.example.com/main')
  await dialog.getByRole('button', { name: 'Add a source' }).click()
  await dialog.getByText('must begin with whep:// in place of http://').waitFor()
  await inDialog('Address').fill('rtsp://viewer:s3cret-pass@camera.invalid/main')
  await inDialog('Name').fill('Front door')
  await dialog.getByRole('switch', { name: 'Only while it is watched' }).click()
  await dialog.getByRole('button', { name: 'Add a source' }).click()
  await card.getByText('rtsp://viewer:••••@camera.invalid/main').waitFor()
  const onDemand = { when: 'onDemand', status: 'idle' }
  expect(await stored()).toMatchObject([{ tokenId: id, streamName: 'door', label: 'Front door', ...onDemand }])
  await card.getByText('Waits for a viewer').waitFor()
  expect(await page.content()).not.toContain('s3cret-pass')
  expect(await axe(page)).toEqual([])

  const more = () => card.getByRole('button', { name: 'More for Front door' }).click()
  await card.getByRole('switch', { name: 'On Front door', exact: true }).click()
  await expect.poll(stored).toMatchObject([{ enabled: false, status: 'off' }])
  await more()
  await page.getByRole('menuitem', { name: 'Change the source' }).click()
  await inDialog('Name').fill('Back door')
  await dialog.getByRole('switch', { name: 'Only while it is watched' }).click()
  await dialog.getByRole('button', { name: 'Save' }).click()
  await card.getByRole('link', { name: 'Back door' }).waitFor()
  expect(await stored()).toMatchObject([
    { label: 'Back door', when: 'always', url: 'rtsp://viewer:••••@camera.invalid/main' },
  ])
  await card.getByRole('button', { name: 'More for Back door' }).click()
  await page.getByRole('menuitem', { name: 'Remove' }).click()
  await page.getByRole('dialog', { name: 'Remove Back door?' }).getByRole('button', { name: 'Remove' }).click()
  await card.getByText('what they send').waitFor()
  expect(await stored()).toEqual([])
})

test('a source has a page with its state and its last refusal, from which it is switched off and removed', async () => {
  const { id } = await dashboard.token('publish', { label: 'Yards', streams: [{ streamName: 'yard' }] })
  const url = 'rtsp://viewer:s3cret-pass@camera.invalid/main'
  const made = await dashboard.api('POST', '/api/pulls', { tokenId: id, streamName: 'yard', label: 'Back yard', url })
  const page = await dashboard.open(`/tokens/publish/${id}`)
  await page.getByRole('link', { name: 'Back yard' }).click()
  await page.getByRole('heading', { name: 'Back yard' }).waitFor()
  const state = page.locator('section.card', { has: page.getByRole('heading', { name: 'State' }) })
  await state.getByText('the host name does not exist').waitFor()
  expect(await axe(page)).toEqual([])
  expect(await page.content()).not.toContain('s3cret-pass')
  await page.getByRole('button', { name: 'Switch off' }).click()
  // What was wrong is told also while nothing is.
  await state.getByText('Last problem').waitFor()
  expect(await state.textContent()).toContain('Last problem: The host name does not exist')
  await page.getByRole('button', { name: 'Remove' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
  await page.getByRole('heading', { name: 'Yards' }).waitFor()
  expect((await dashboard.api('GET', `/api/pulls/${made.data.id}`)).status).toBe(404)
})

test('a source of a channel gets another address while that is stopped, and the page says why it cannot', async () => {
  const url = 'rtsp://viewer:s3cret-pass@camera.invalid/one'
  const { id } = (await dashboard.v2('POST', '/channels', {
    name: 'Door',
    ingests: [{ name: 'Camera', type: 'rtsp-pull', url, engines: [{ name: 'Main' }] }],
  })) as { id: string }
  const page = await dashboard.open(`/channels/${id}`)
  const dialog = page.getByRole('dialog')
  const address = dialog.locator('.field', { hasText: 'Address of the source' })
  const button = { name: 'Change address', exact: true }
  const change = async (to: string): Promise<void> => {
    await address.locator('input').fill(to)
    await dialog.getByRole('button', button).click()
  }
  await page.getByRole('button', { name: 'Change address ' }).click()
  expect(await address.locator('input').inputValue()).toContain('viewer')
  await change('http://camera.invalid/two')
  await address.locator('.err').waitFor()
  expect(await axe(page)).toEqual([])
  await change('rtsp://viewer:0ther-pass@camera.invalid/two')
  await page.locator('main code', { hasText: 'camera.invalid/two' }).waitFor()
  expect(await page.content()).not.toContain('-pass')
  await dashboard.v2('POST', `/channels/${id}/start`)
  await page.getByRole('button', { name: 'Change address ' }).click()
  await change('rtsp://camera.invalid/three')
  await dialog.getByText('stop it first').waitFor()
  await dashboard.v2('POST', `/channels/${id}/stop`)
})

test('the sessions of a token say which layer of its source each sends', async () => {
  const { id } = await dashboard.token('publish', { label: 'Layers', streams: [{ streamName: 'hall' }] })
  const page = await dashboard.open('/')
  const since = { startedOn: '2026-01-01T00:00:00.000Z', bytesIn: 1, bytesOut: 0 }
  const common = { action: 'publish', protocol: 'rtmp', streamName: 'hall', address: '192.0.2.7', ...since }
  const data = ['high', 'low'].map((layer) => ({
    ...common,
    id: layer,
    layer,
    tokenId: id,
  }))
  const json = { status: 'success', data, pagination: { hasMore: false } }
  await page.route('**/api/sessions?*', (route) => route.fulfill({ json }))
  await page.goto(`${dashboard.home}#/tokens/publish/${id}`)
  const sessions = page.locator('.token-session', { hasText: 'Layer' })
  await expect.poll(() => sessions.locator('code').allTextContents()).toEqual(['high', 'low'])
})
