import { runApp } from '../support/app.ts'
import { broadcast } from '../support/broadcast.ts'
import { subscribeTo } from '../support/eventReceiver.ts'
import { encoded } from '../media/ffmpeg/frames.ts'

/** A server that records a broadcast until it is killed. Prints when the recording has begun. */
const [, , dataDir = '', receiver = ''] = process.argv
const sluice = await runApp({ dataDir, flags: { webhooks: { allowPrivateTargets: true } } })
await subscribeTo(sluice, receiver)
const recorded = await encoded({ video: 'h264', audio: 'aac', seconds: 2, gop: 25, size: '320x180' })
await broadcast(sluice, recorded, { streamName: 'killed', token: { record: true }, speed: 4 })
process.stdout.write('begun\n')
setInterval(() => undefined, 1000)
