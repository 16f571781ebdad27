import { Button } from '../parts/button.tsx'
import { useSubmit } from '../parts/form.tsx'
import { Notice } from '../parts/notice.tsx'
import { words } from '../words/words.ts'
import { obstacleText, signInByPasskey } from './passkeys.ts'

/** Signs in with a passkey, or says why this page cannot. `done`: the user is signed in. */
export function PasskeySignIn({ done }: { readonly done: () => void }) {
  const { isBusy, error, onSubmit } = useSubmit(async () => {
    await signInByPasskey()
    done()
  })
  const obstacle = obstacleText()
  if (obstacle !== null) return <p class="note">{obstacle}</p>
  return (
    <div class="stack gap-s">
      <Button icon="tokens" isWide isBusy={isBusy} onClick={onSubmit}>
        {words.passkeys.signIn}
      </Button>
      {error && <Notice kind="error">{error.message}</Notice>}
    </div>
  )
}
