import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import { encoded } from '../../media/ffmpeg/frames.ts'
import { enhancedMessages } from '../../media/rtmp/enhanced.ts'
import { listenFor } from '../../media/rtmp/publications.ts'
import { RtmpPublisher } from '../../support/rtmpPublisher.ts'
import { axe, useDashboard } from './dashboard.ts'

const dashboard = useDashboard({ SLUICE_MEDIA_ALLOWED_NETWORKS: '127.0.0.0/8' })

test('targets are added, changed, switched off and taken away, and only the end of their keys is shown', async () => {
  const { id } = await dashboard.token('publish', { label: 'Everywhere', streams: [{ streamName: 'everywhere' }] })
  const page = await dashboard.open(`/tokens/publish/${id}`)
  const button = (name: string) => page.getByRole('button', { name, exact: true })
  const targets = page.locator('section.card', { has: page.getByRole('heading', { name: 'Send on to' }) })
  const dialog = page.getByRole('dialog')
  const inDialog = (label: string) => dialog.locator('.field', { hasText: label }).locator('input')
  const stored = async () => (await dashboard.api('GET', `/api/publish_token/${id}`)).data['restream']
  await button('Add a target').click()
  await inDialog('Server').fill('whips://live.example.com:9000')
  await inDialog('Stream key').fill('abcd-efgh-ijkl-mnop')
  await inDialog('Name').fill('YouTube')
  await dialog.getByRole('button', { name: 'Add a target' }).click()
  await dialog.getByText('must name an endpoint').waitFor()
  await inDialog('Server').fill('rtmps://a.rtmps.youtube.com/live2')
  await dialog.getByRole('button', { name: 'Add a target' }).click()
  await targets.getByText('••••mnop').waitFor()
  const target = { url: 'rtmps://a.rtmps.youtube.com/live2', key: '••••mnop', label: 'YouTube', enabled: true }
  expect(await stored()).toEqual([{ ...target, transcode: false }])
  expect(await page.content()).not.toContain('abcd-efgh')
  expect(await axe(page)).toEqual([])

  const more = () => page.getByRole('button', { name: 'More for YouTube' }).click()
  await more()
  await page.getByRole('menuitem', { name: 'Change the target' }).click()
  await dialog.getByText('Encode other video as H.264').click()
  await dialog.getByRole('button', { name: 'Save' }).click()
  await expect.poll(stored).toEqual([{ ...target, transcode: true }])
  const isOn = targets.getByRole('switch', { name: 'On YouTube', exact: true })
  await isOn.press('Space')
  await expect.poll(stored).toEqual([{ ...target, enabled: false, transcode: true }])
  // A switch whose change is under way keeps the focus.
  await expect.poll(() => isOn.isChecked()).toBe(false)
  expect(await isOn.evaluate((element) => element === element.ownerDocument.activeElement)).toBe(true)
  await button('Sync').click()
  await page.locator('.toast', { hasText: 'The targets are dialled again' }).waitFor()
  await more()
  await page.getByRole('menuitem', { name: 'Remove' }).click()
  // The key cannot be read again, so it asks.
  await dialog.getByText('forgets its key').waitFor()
  expect(await stored()).not.toEqual([])
  await dialog.getByRole('button', { name: 'Remove' }).click()
  await targets.getByText('can go on to YouTube').waitFor()
  expect(await stored()).toEqual([])

  await button('Add a target').click()
  await inDialog('Server').fill('srt://live.example.com:9000?streamid=a-stream&passphrase=correct-horse')
  await expect.poll(() => inDialog('Stream key').count()).toBe(0)
  await inDialog('Name').fill('Studio')
  await dialog.getByRole('button', { name: 'Add a target' }).click()
  await targets.getByText('passphrase=••••rse').waitFor()
  expect(await page.content()).not.toContain('correct-horse')
  await page.getByRole('button', { name: 'More for Studio' }).click()
  await page.getByRole('menuitem', { name: 'Change the target' }).click()
  await dialog.getByText('As it is, it keeps them').waitFor()
  await inDialog('Name').fill('Control room')
  await dialog.getByRole('button', { name: 'Save' }).click()
  const url = 'srt://live.example.com:9000?streamid=••••am&passphrase=••••rse'
  await expect.poll(stored).toEqual([{ url, key: '', label: 'Control room', enabled: true, transcode: false }])
})

test('what a target takes and what becomes of it is seen as it happens, on the pages of the token and the stream', async () => {
  const target = await listenFor()
  onTestFinished(() => target.stop())
  const restream = [{ url: `rtmp://127.0.0.1:${target.port}/app`, key: 'key-of-the-copy', label: 'Copy' }]
  const { id, token } = await dashboard.token('publish', { streams: [{ streamName: 'sent-on' }], restream })
  const show = enhancedMessages(await encoded({ video: 'h264', audio: 'aac', seconds: 4, gop: 25 }))
  const publisher = await RtmpPublisher.start(dashboard.rtmp('sent-on', token), systemClock, show)
  onTestFinished(() => publisher.end())
  const page = await dashboard.open(`/tokens/publish/${id}`)
  const card = (title: string) => page.locator('section.card', { has: page.getByRole('heading', { name: title }) })
  await card('Send on to')
    .getByText(/Live · 0:0\d:\d\d · [\d.]+\skbit\/s/)
    .waitFor()
  await page.goto(`${dashboard.home}#/streams/sent-on`)
  await card('Sent on to')
    .getByText(/Live · 0:0\d:\d\d · [\d.]+\skbit\/s/)
    .waitFor()
  await card('Events of targets').getByText('Live').waitFor()
  await target.stop()
  // Each try that fails has its own reason; the list of events keeps the first.
  await card('Sent on to').getByText('Trying again: ').first().waitFor()
  await card('Events of targets').getByText('Trying again: The target').first().waitFor()
  expect(await axe(page)).toEqual([])
  for (const width of [1280, 390]) {
    await page.setViewportSize({ width, height: 900 })
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width)
  }
})

test('targets of an engine are added and shown on the page of its channel, with the end of their keys alone', async () => {
  const engines = [{ name: 'Main', quality: { abrLadderId: 'ab_default' } }]
  const { id } = (await dashboard.v2('POST', '/channels', {
    name: 'Sent on',
    ingests: [{ name: 'Camera', type: 'rtmp-push', engines }],
  })) as { id: string }
  const page = await dashboard.open(`/channels/${id}`)
  const targets = page.locator('section.card', { has: page.getByRole('heading', { name: 'Main: send on to' }) })
  const dialog = page.getByRole('dialog')
  const inDialog = (label: string) => dialog.locator('.field', { hasText: label }).locator('input')
  const stored = async () =>
    ((await dashboard.v2('GET', `/channels/${id}/engines`)) as { restream: object[] }[])[0]?.restream
  await targets.getByRole('button', { name: 'Add a target' }).click()
  await inDialog('Server').fill('rtmps://a.rtmps.youtube.com/live2')
  await inDialog('Stream key').fill('abcd-efgh-ijkl-mnop')
  await inDialog('Name').fill('YouTube')
  expect(await dialog.getByText('Encode other video as H.264').count()).toBe(0)
  await dialog.getByRole('button', { name: 'Add a target' }).click()
  await targets.getByText('••••mnop').waitFor()
  const target = { id: '1', url: 'rtmps://a.rtmps.youtube.com/live2', key: '••••mnop', label: 'YouTube' }
  await targets.getByRole('switch', { name: 'On YouTube', exact: true }).click()
  await expect.poll(stored).toEqual([{ ...target, enabled: false }])
  await targets.getByRole('button', { name: 'Sync' }).click()
  await page.locator('.toast', { hasText: 'The targets are dialled again' }).waitFor()
  expect(await page.content()).not.toContain('abcd-efgh')
  expect(await axe(page)).toEqual([])
})
