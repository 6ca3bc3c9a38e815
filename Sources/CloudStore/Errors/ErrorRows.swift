import StrictText

/// The rows of ``ErrorTable`` as text, three lines each.
///
/// The first line has the identifier, the number and name of the `CKError.Code` with the same meaning (`-` for errors of other families than the
/// cloud), whether a retry helps, the meaning for developers, and `foreign` for an error that only programs for CloudKit raise. The second line has
/// the title, the message and the next step in English, the third line in Italian. The rows of the cloud are sorted by CKError's numbers. If several
/// share a number, the first is the one with CKError's own name.
enum ErrorRows {
    /// The rows.
    static let entries: [ErrorEntry] = {
        let lines = text.exact.split(separator: "\n").map { $0.exact.split(separator: "|") }
        return stride(from: 0, to: lines.count, by: 3).map { ErrorEntry(lines[$0], english: lines[$0 + 1], italian: lines[$0 + 2]) }
    }()

    private static let text = """
        cloud.internalError|1 internalError|never|something failed that has no code of its own|foreign
        Unexpected error|Something went wrong.|Report it, with the details.
        Errore imprevisto|Qualcosa è andato storto.|Segnala il problema con i dettagli.
        cloud.damaged|1 internalError|after the next step|bytes are not what their hash, size or grammar says
        Damaged data|The shared data is damaged, and none of it was used.|Restore it from a copy, or ask whoever manages the shared data to repair it.
        Dati danneggiati|I dati condivisi sono danneggiati e non sono stati usati.|Ripristinali da una copia o chiedi a chi gestisce i dati condivisi di \
        ripararli.
        cloud.partialFailure|2 partialFailure|never|some records of a request failed, each for its own reason
        Not everything was saved|Some changes could not be saved.|Look at the error of each change.
        Salvataggio incompleto|Alcune modifiche non sono state salvate.|Controlla l’errore di ciascuna modifica.
        cloud.cloudUnavailable|3 networkUnavailable|later|the location is not there: not mounted, or no network
        Not reachable|The shared data cannot be reached at the moment.|Check the network or the shared folder, then try again.
        Non raggiungibile|I dati condivisi non sono raggiungibili in questo momento.|Controlla la rete o la cartella condivisa, poi riprova.
        cloud.inputOutput|4 networkFailure|later|a read or a write failed on the way
        Connection failed|The shared data could not be read or written.|Check the disk and the network, then try again.
        Connessione non riuscita|Non è stato possibile leggere o scrivere i dati condivisi.|Controlla il disco e la rete, poi riprova.
        cloud.badContainer|5 badContainer|after the next step|another location or another container stands there
        Other data found|This is not the data that belongs to the app.|Choose the folder or the account that the app was set up with.
        Trovati altri dati|Questi non sono i dati dell’app.|Scegli la cartella o l’account con cui l’app è stata configurata.
        cloud.notACloud|5 badContainer|after the next step|the directory is there and is not a location
        No shared data|There is no shared data in this place.|Choose another place, or set sync up there.
        Nessun dato condiviso|In questa posizione non ci sono dati condivisi.|Scegli un’altra posizione o configura lì la sincronizzazione.
        cloud.serviceUnavailable|6 serviceUnavailable|later|the service is down|foreign
        Service unavailable|The service is not available at the moment.|Try again later.
        Servizio non disponibile|Il servizio non è disponibile in questo momento.|Riprova più tardi.
        cloud.requestRateLimited|7 requestRateLimited|later|too many requests in a short time; `retryAfter` says when the next is welcome
        Too many requests|There were too many requests in a short time.|Wait a moment, then try again.
        Troppe richieste|Ci sono state troppe richieste in poco tempo.|Attendi un momento, poi riprova.
        cloud.missingEntitlement|8 missingEntitlement|never|the app is not entitled to the service|foreign
        App not permitted|This app may not use the service.|Install the app again, or report it to the app’s developer.
        App non autorizzata|Questa app non può usare il servizio.|Reinstalla l’app o segnala il problema a chi la sviluppa.
        cloud.notAuthenticated|9 notAuthenticated|after the next step|there is no account
        Not signed in|Nobody is signed in, so nothing can be synced.|Sign in. Your changes are kept until then.
        Accesso non effettuato|Nessuno ha effettuato l’accesso, quindi non è possibile sincronizzare.|Accedi. Fino ad allora le tue modifiche restano salvate.
        cloud.permissionFailure|10 permissionFailure|after the next step|the user lacks a right
        Not allowed|You may not do this.|Ask the owner of the shared data for permission.
        Non consentito|Non hai il permesso di farlo.|Chiedi il permesso al proprietario dei dati condivisi.
        cloud.notAuthorized|10 permissionFailure|after the next step|this device may not publish here
        Read only|This device may read the shared data, but not change it.|Make the change on a device that may publish.
        Sola lettura|Questo dispositivo può leggere i dati condivisi, ma non modificarli.|Fai la modifica su un dispositivo che può pubblicare.
        cloud.keyUnavailable|10 permissionFailure|after the next step|the device's private keys are missing or cannot be used
        Keys missing|This device cannot prove who it is.|Restore its key file, or set the device up again and have it approved.
        Chiavi mancanti|Questo dispositivo non può dimostrare la propria identità.|Ripristina il file delle chiavi, oppure riconfigura il dispositivo e \
        fallo approvare.
        cloud.unknownItem|11 unknownItem|never|the record, version or asset is not there
        Not found|This item no longer exists.|Refresh. To keep the item, save it as a new one.
        Non trovato|Questo elemento non esiste più.|Aggiorna. Per conservare l’elemento, salvalo come nuovo.
        cloud.invalidArguments|12 invalidArguments|never|a name, a value, a query or a cursor is not allowed
        Not valid|This cannot be saved or searched for.|Correct what you entered, then try again.
        Non valido|Non è possibile salvare o cercare questo contenuto.|Correggi ciò che hai inserito, poi riprova.
        cloud.resultsTruncated|13 resultsTruncated|after the next step|the answer does not hold all results; Apple has deprecated it|foreign
        Results incomplete|Not all results were returned.|Load the next results.
        Risultati incompleti|Non sono stati restituiti tutti i risultati.|Carica i risultati successivi.
        cloud.serverRecordChanged|14 serverRecordChanged|after fetching|another device was first
        Changed elsewhere|This was changed on another device in the meantime.|Look at the other change, then save again.
        Modificato altrove|Nel frattempo questo elemento è stato modificato su un altro dispositivo.|Controlla l’altra modifica, poi salva di nuovo.
        cloud.serverRejectedRequest|15 serverRejectedRequest|never|the request was refused for good|foreign
        Request refused|The request was refused.|Report it, with the details.
        Richiesta rifiutata|La richiesta è stata rifiutata.|Segnala il problema con i dettagli.
        cloud.clockUnusable|15 serverRejectedRequest|after the next step|a clock is outside 2000 to 2100, or a day off the location's
        Wrong clock|The clock of this device is wrong.|Set the date and the time, then try again.
        Orologio errato|L’orologio di questo dispositivo è sbagliato.|Imposta la data e l’ora, poi riprova.
        cloud.rolledBack|15 serverRejectedRequest|after the next step|the zone's history ends before what this device has read, or is another
        Older data found|The shared data is older than what this device has seen.|Find out who put an old copy there before you go on.
        Trovati dati più vecchi|I dati condivisi sono più vecchi di quelli già visti da questo dispositivo.|Scopri chi ha messo lì una vecchia copia prima \
        di continuare.
        cloud.untrusted|15 serverRejectedRequest|after the next step|a signature is missing or not one by a member who may do this
        Data not trusted|Somebody without permission has written to the shared data.|Find out who wrote it before you go on.
        Dati non attendibili|Qualcuno senza permesso ha scritto nei dati condivisi.|Scopri chi li ha scritti prima di continuare.
        cloud.assetFileNotFound|16 assetFileNotFound|after the next step|a record names an asset that is not there
        File missing|A file that belongs to this item is missing.|Add the file again, then save.
        File mancante|Manca un file che appartiene a questo elemento.|Aggiungi di nuovo il file, poi salva.
        cloud.assetFileModified|17 assetFileModified|after the next step|a record names an asset that is there with another size or content
        File changed|A file that belongs to this item was changed.|Add the file again, then save.
        File modificato|Un file che appartiene a questo elemento è stato modificato.|Aggiungi di nuovo il file, poi salva.
        cloud.incompatibleVersion|18 incompatibleVersion|after the next step|the data needs a newer version of the program
        Update needed|The shared data was made by a newer version.|Update the app on this device.
        Aggiornamento necessario|I dati condivisi sono stati creati da una versione più recente.|Aggiorna l’app su questo dispositivo.
        cloud.constraintViolation|19 constraintViolation|after the next step|a value that has to be unique is there already|foreign
        Already in use|A value that must be unique is used by another item.|Choose another value, then save again.
        Già in uso|Un valore che deve essere unico è già usato da un altro elemento.|Scegli un altro valore, poi salva di nuovo.
        cloud.operationCancelled|20 operationCancelled|never|the caller cancelled it
        Cancelled|The operation was cancelled.|Start it again if you want it.
        Annullato|L’operazione è stata annullata.|Avviala di nuovo se ti serve.
        cloud.changeTokenExpired|21 changeTokenExpired|after fetching|what the token continues is no longer kept; read the zone whole, then go on from the \
        new token
        Reading everything again|This device was away for a long time and has to read everything again.|Refresh, and wait until everything is read.
        Rilettura completa|Questo dispositivo è rimasto scollegato a lungo e deve rileggere tutto.|Aggiorna e attendi la fine della lettura.
        cloud.batchRequestFailed|22 batchRequestFailed|after fetching|another record made the atomic request fail
        Nothing saved|Nothing was saved, because another item could not be saved.|Correct the item that failed, then save everything again.
        Niente salvato|Non è stato salvato nulla, perché non è stato possibile salvare un altro elemento.|Correggi l’elemento in errore, poi salva di nuovo \
        tutto.
        cloud.zoneBusy|23 zoneBusy|later|other devices published first again and again
        Busy|Other devices are saving at the moment.|Try again in a moment.
        Occupato|Altri dispositivi stanno salvando in questo momento.|Riprova tra poco.
        cloud.badDatabase|24 badDatabase|never|the operation does not belong in this database (private, public or shared)|foreign
        Wrong database|This cannot be done in this database.|Report it, with the details.
        Database errato|Questa operazione non è possibile in questo database.|Segnala il problema con i dettagli.
        cloud.quotaExceeded|25 quotaExceeded|after the next step|there is no room
        No room left|There is no room left for the shared data.|Make room. Your changes are kept until then.
        Spazio esaurito|Non c’è più spazio per i dati condivisi.|Libera spazio. Fino ad allora le tue modifiche restano salvate.
        cloud.zoneNotFound|26 zoneNotFound|after the next step|there is no such zone
        Nothing shared yet|There is no shared data yet.|Set sync up again, then sync.
        Ancora nessun dato condiviso|Non ci sono ancora dati condivisi.|Configura di nuovo la sincronizzazione, poi sincronizza.
        cloud.limitExceeded|27 limitExceeded|after the next step|the request or a record is larger than allowed: split it in half
        Too large|This is too large to be saved at once.|Save less at once, or make the item smaller.
        Troppo grande|È troppo grande per essere salvato in una volta.|Salva meno elementi alla volta o riduci l’elemento.
        cloud.userDeletedZone|28 userDeletedZone|after the next step|the zone was deleted on purpose
        Shared data deleted|The shared data was deleted on another device.|Choose whether to keep, remove or upload again what is on this device.
        Dati condivisi eliminati|I dati condivisi sono stati eliminati su un altro dispositivo.|Scegli se conservare, rimuovere o caricare di nuovo ciò che \
        è su questo dispositivo.
        cloud.zoneMoved|28 userDeletedZone|after the next step|the zone was signed or sealed, and goes on in another zone
        Shared data moved|The shared data was signed or encrypted, and goes on in another place.|Sync once more; another device may have to approve this one.
        Dati condivisi spostati|I dati condivisi sono stati firmati o cifrati e continuano in un’altra posizione.|Sincronizza di nuovo; un altro dispositivo \
        potrebbe dover approvare questo.
        cloud.tooManyParticipants|29 tooManyParticipants|after the next step|a share has as many participants as it can have|foreign
        Too many participants|The share has as many people as it can have.|Remove somebody from the share, then invite again.
        Troppi partecipanti|La condivisione ha raggiunto il numero massimo di persone.|Rimuovi qualcuno dalla condivisione, poi invita di nuovo.
        cloud.alreadyShared|30 alreadyShared|after the next step|the record, or one above or beneath it, is part of another share|foreign
        Already shared|This item is part of another share.|Take it out of the other share first.
        Già condiviso|Questo elemento fa già parte di un’altra condivisione.|Rimuovilo prima dall’altra condivisione.
        cloud.referenceViolation|31 referenceViolation|after the next step|a reference that needs its target has none
        Link broken|This belongs to something that no longer exists.|Save what it belongs to first, then save this.
        Collegamento mancante|Questo elemento appartiene a qualcosa che non esiste più.|Salva prima l’elemento a cui appartiene, poi questo.
        cloud.managedAccountRestricted|32 managedAccountRestricted|after the next step|the account may not use the service
        Account restricted|This account may not use the shared data.|Ask whoever manages the account.
        Account limitato|Questo account non può usare i dati condivisi.|Chiedi a chi gestisce l’account.
        cloud.participantMayNeedVerification|33 participantMayNeedVerification|after the next step|the invited person has not been verified yet|foreign
        Confirm who you are|You were invited, but it is not confirmed yet that the invitation is for you.|Open the invitation’s link and confirm your address.
        Conferma la tua identità|Hai ricevuto un invito, ma non è ancora confermato che sia per te.|Apri il link dell’invito e conferma il tuo indirizzo.
        cloud.serverResponseLost|34 serverResponseLost|later|the answer was lost: the request may have succeeded; send the same request again
        No answer|It is not certain that this was saved.|Try again.
        Nessuna risposta|Non è certo che il salvataggio sia riuscito.|Riprova.
        cloud.pending|35 assetNotAvailable|later|a commit is there whose asset has not arrived
        Still on its way|A part of the shared data has not arrived yet.|Try again later.
        Dati in arrivo|Una parte dei dati condivisi non è ancora arrivata.|Riprova più tardi.
        cloud.accountTemporarilyUnavailable|36 accountTemporarilyUnavailable|later|there is an account, and it cannot be used just now
        Account not available|Your account is not available at the moment.|Try again later, or sign in again.
        Account non disponibile|Il tuo account non è disponibile in questo momento.|Riprova più tardi o accedi di nuovo.
        sync.dataRefused|-|after the next step|data was refused: damaged, rolled back, or a row that cannot be synced
        Data refused|The data was refused. Nothing was changed.|Read the details, and repair what they name.
        Dati rifiutati|I dati sono stati rifiutati. Non è cambiato nulla.|Leggi i dettagli e ripara ciò che indicano.
        sync.nothingThere|-|after the next step|what was asked for is not there
        Not found|What you asked for is not there.|Check its name and its place.
        Non trovato|Ciò che hai chiesto non c’è.|Controlla il nome e la posizione.
        sync.cloudUnavailable|-|later|the location is not there
        Not reachable|The shared data cannot be reached at the moment.|Check the network or the shared folder, then try again.
        Non raggiungibile|I dati condivisi non sono raggiungibili in questo momento.|Controlla la rete o la cartella condivisa, poi riprova.
        sync.inputOutput|-|later|reading or writing failed
        Sync failed|Something could not be read or written.|Check the disk and the network, then try again.
        Sincronizzazione non riuscita|Non è stato possibile leggere o scrivere qualcosa.|Controlla il disco e la rete, poi riprova.
        sync.tryAgainLater|-|later|something is in use or has not arrived yet
        Not yet|The sync cannot be done at this moment.|Try again in a moment.
        Non ancora|In questo momento non è possibile sincronizzare.|Riprova tra poco.
        sync.permissionDenied|-|after the next step|the system refused to read or write a file
        No permission|The system does not let the app use a file or a folder.|Give the app the right to use it.
        Permesso negato|Il sistema non consente all’app di usare un file o una cartella.|Dai all’app il permesso di usarlo.
        sync.refused|-|after the next step|a setting or a safety check: sync is off, a table does not match or lost rows, the clock, a copied database
        Sync stopped|A safety check or a setting stopped the sync. Nothing was changed.|Read the details, and follow their hint.
        Sincronizzazione interrotta|Un controllo di sicurezza o un’impostazione ha fermato la sincronizzazione. Non è cambiato nulla.|Leggi i dettagli e \
        segui il suggerimento.
        database.notFound|-|after the next step|there is no such file
        Database missing|The app’s database is not there.|Restore it from a backup, or set the app up again.
        Database mancante|Il database dell’app non c’è.|Ripristinalo da un backup o configura di nuovo l’app.
        database.damaged|-|after the next step|the file is not a SQLite database, or is damaged
        Database damaged|The app’s database is damaged.|Restore it from a backup.
        Database danneggiato|Il database dell’app è danneggiato.|Ripristinalo da un backup.
        database.busy|-|later|another program holds the database's lock
        Database in use|Another program is using the database.|Try again in a moment.
        Database in uso|Un altro programma sta usando il database.|Riprova tra poco.
        database.running|-|later|another run works on the same database
        Already syncing|Another sync of this database is running.|Wait until it has finished.
        Sincronizzazione in corso|È già in corso un’altra sincronizzazione di questo database.|Attendi che finisca.
        database.permissionDenied|-|after the next step|the system refused to read or write the database
        No permission|The app may not read or write its database.|Give the app the right to use the file and its folder.
        Permesso negato|L’app non può leggere o scrivere il proprio database.|Dai all’app il permesso di usare il file e la sua cartella.
        database.diskFull|-|after the next step|there is no room for the database
        Disk full|There is no room left on this device.|Make room, then try again.
        Disco pieno|Su questo dispositivo non c’è più spazio.|Libera spazio, poi riprova.
        database.inputOutput|-|later|the system failed a read or a write of the database
        Disk error|The database could not be read or written.|Check the disk, then try again.
        Errore del disco|Non è stato possibile leggere o scrivere il database.|Controlla il disco, poi riprova.
        database.notInitialized|-|after the next step|the database was not set up for syncing
        Sync not set up|Sync is not set up for this database.|Check the settings of sync.
        Sincronizzazione non configurata|La sincronizzazione di questo database non è configurata.|Controlla le impostazioni di sincronizzazione.
        database.schemaMismatch|-|after the next step|a table does not match its dataset's description
        Tables do not match|The tables of this database do not match the shared data.|Update the app on all devices.
        Tabelle diverse|Le tabelle di questo database non corrispondono ai dati condivisi.|Aggiorna l’app su tutti i dispositivi.
        database.badRow|-|after the next step|a row cannot be synced or cannot be stored
        Entry cannot be synced|An entry of the database cannot be synced.|Correct the entry that the details name.
        Voce non sincronizzabile|Non è possibile sincronizzare una voce del database.|Correggi la voce indicata nei dettagli.
        database.foreignKeyViolated|-|after the next step|the new rows break a foreign key that the database had kept
        Entries do not fit|New entries refer to entries that are not there.|Read the details, and repair what they name.
        Voci non compatibili|Le nuove voci rimandano a voci che non ci sono.|Leggi i dettagli e ripara ciò che indicano.
        data.tooLarge|-|after the next step|a key, an entity or a declared size is beyond its limit
        Entry too large|An entry is too large to be synced.|Make the entry smaller that the details name.
        Voce troppo grande|Una voce è troppo grande per essere sincronizzata.|Riduci la voce indicata nei dettagli.
        data.notAContainer|-|after the next step|the file is not a container of a known dataset
        Unknown file|The file is not one that can be imported.|Choose another file.
        File sconosciuto|Questo file non può essere importato.|Scegli un altro file.
        data.badDescription|-|after the next step|a dataset's description cannot be used
        Description not valid|The description of what is synced has a mistake.|Correct the description.
        Descrizione non valida|La descrizione di ciò che si sincronizza contiene un errore.|Correggi la descrizione.
        data.badInstant|-|never|a text is not a time
        Not a time|This text is not a date with a time.|Correct the text.
        Ora non valida|Questo testo non è una data con un’ora.|Correggi il testo.
        data.badJSON|-|never|a text is not strict JSON
        Not readable|This text is not valid JSON.|Correct the text.
        Non leggibile|Questo testo non è JSON valido.|Correggi il testo.
        gate.preferenceUndecided|-|after the next step|the user has not said yet whether to sync
        Not chosen yet|You have not chosen yet whether to sync.|Turn sync on or off in the settings.
        Scelta da fare|Non hai ancora scelto se sincronizzare.|Attiva o disattiva la sincronizzazione nelle impostazioni.
        gate.preferenceOff|-|after the next step|the user has turned sync off
        Sync is off|Sync is turned off for this device.|Turn it on in the settings. Your changes are kept until then.
        Sincronizzazione disattivata|La sincronizzazione è disattivata su questo dispositivo.|Attivala nelle impostazioni. Fino ad allora le tue modifiche \
        restano salvate.
        gate.preferenceUnknown|-|after the next step|the store that the preference is bound to cannot be read or written
        Setting not readable|The app cannot tell whether you want to sync.|Turn sync off and on again in the settings.
        Impostazione illeggibile|L’app non riesce a capire se vuoi sincronizzare.|Disattiva e riattiva la sincronizzazione nelle impostazioni.
        gate.notEntitled|-|after the next step|the user may not sync
        Not included|Your plan does not include sync.|Get a plan that does. Your changes are kept until then.
        Non incluso|Il tuo piano non comprende la sincronizzazione.|Scegli un piano che la comprenda. Fino ad allora le tue modifiche restano salvate.
        gate.entitlementExpired|-|after the next step|the user was entitled until a time that has passed
        Plan expired|Your plan with sync has expired.|Renew it. Your changes are kept until then.
        Piano scaduto|Il tuo piano con la sincronizzazione è scaduto.|Rinnovalo. Fino ad allora le tue modifiche restano salvate.
        gate.entitlementUnknown|-|later|nobody can say whether the user is entitled, and no earlier answer holds any longer
        Plan not confirmed|It could not be confirmed that your plan includes sync.|Check the network and the date, then try again.
        Piano non confermato|Non è stato possibile confermare che il tuo piano comprenda la sincronizzazione.|Controlla la rete e la data, poi riprova.
        gate.noAccount|-|after the next step|nobody is signed in to the account that the location needs
        Not signed in|Nobody is signed in, so nothing can be synced.|Sign in. Your changes are kept until then.
        Accesso non effettuato|Nessuno ha effettuato l’accesso, quindi non è possibile sincronizzare.|Accedi. Fino ad allora le tue modifiche restano salvate.
        gate.accountRestricted|-|after the next step|the account may not use the location
        Account restricted|This account may not use the shared data.|Ask whoever manages the account.
        Account limitato|Questo account non può usare i dati condivisi.|Chiedi a chi gestisce l’account.
        gate.accountUnavailable|-|later|there is an account, and it cannot be used just now, or nobody can tell
        Account not available|Your account is not available at the moment.|Try again later, or sign in again.
        Account non disponibile|Il tuo account non è disponibile in questo momento.|Riprova più tardi o accedi di nuovo.
        gate.inMemory|-|after the next step|the database is a stand-in in memory
        Nothing is kept|The app’s database could not be opened. What you do now is kept only until you close the app.|Repair the database.
        Niente viene conservato|Non è stato possibile aprire il database dell’app. Ciò che fai ora resta solo finché non chiudi l’app.|Ripara il database.
        """
}
