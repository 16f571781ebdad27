import { useState } from 'preact/hooks'
import { type Distribution, signViewerToken } from '#api/channels.ts'
import { distributionAddress, pageAddresses } from '../../addresses.ts'
import { call } from '../../api/call.ts'
import { useLoad } from '../../api/load.ts'
import { Button } from '../../parts/button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { SluicePlayer } from '../../parts/sluicePlayer.tsx'
import { canChange } from '../../session.ts'
import { channelWords } from '../../words/channelWords.ts'
import { words } from '../../words/words.ts'

const text = channelWords.channel
const TOKEN_SECONDS = 3600

/** Plays a distribution as its viewers get it. The player counts as a viewer, so it begins when the user asks for it. */
export function Watch({ distribution }: { readonly distribution: Distribution }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <Button size="small" icon="play" onClick={() => setOpen(true)} of={distribution.name}>
        {text.watch}
      </Button>
      {isOpen && <Player distribution={distribution} onClose={() => setOpen(false)} />}
    </>
  )
}

function Player({ distribution, onClose }: { readonly distribution: Distribution; readonly onClose: () => void }) {
  const { id, name } = distribution
  const token = useLoad((signal) => tokenFor(distribution, signal), [id])
  return (
    <Dialog title={name} onClose={onClose} foot={<Button onClick={onClose}>{words.recordings.close}</Button>}>
      {token.data !== undefined && (
        <SluicePlayer attributes={{ src: distributionAddress(pageAddresses(), id), token: token.data }} />
      )}
    </Dialog>
  )
}

/** A token that this server signs; '' if none is needed or it cannot: the player then says why it was refused. */
async function tokenFor({ id, security }: Distribution, signal: AbortSignal): Promise<string> {
  if (!security.tokenRequired || !canChange()) return ''
  for (const key of security.keys) {
    const path = { distributionId: id, keyId: key.id }
    const signed = await call(signViewerToken, { path, body: { expiresInSeconds: TOKEN_SECONDS } }, { signal }).catch(
      () => null,
    )
    if (signed) return signed.token
  }
  return ''
}
