enum LocalStoreRoom {}
