package cork
