internal import KeyShareWire
internal import KeySharing

// The generated Objective-C code. It consists of the same parts for both mechanisms; only the picker and the password
// differ.

extension PickerCode {
    /// The Objective-C code of a 2025 request.
    var objectiveC2025: String {
        """
        \(head)#import <Security/Security.h>
        #import <UIKit/UIKit.h>
        #import <UniformTypeIdentifiers/UniformTypeIdentifiers.h>
        \(objectiveCZipImport)
        // The password service of the provider.
        @protocol KeySharingPassword
        - (void)fetchPassword:(void (^)(NSString *password, NSError *error))completionHandler;
        @end

        \(Self.objectiveCInterface)
        - (void)presentFrom:(UIViewController *)presenter {
            // The types that the user can pick. The picker shows all other items disabled.
            NSArray<UTType *> *contentTypes = @[
        \(types(Self.objectiveCType))
            ];
            UIDocumentPickerViewController *picker =
                [[UIDocumentPickerViewController alloc] initForOpeningContentTypes:contentTypes];
            picker.delegate = self;
            picker.allowsMultipleSelection = \(request.permitsFiles ? "YES" : "NO");
            [presenter presentViewController:picker animated:YES completion:nil];
        }

        - (void)documentPicker:(UIDocumentPickerViewController *)controller
            didPickDocumentsAtURLs:(NSArray<NSURL *> *)urls {
            for (NSURL *url in urls) {
                BOOL isAccessing = [url startAccessingSecurityScopedResource];
                [self fetchPasswordFor:url then:^(NSString *password, NSError *error) {
                    NSArray *items = password == nil ? nil : [self itemsAt:url password:password error:&error];
                    // Always stop accessing the file, even if reading the password or the file failed.
                    if (isAccessing) { [url stopAccessingSecurityScopedResource]; }
                    dispatch_async(dispatch_get_main_queue(), ^{
                        if (self.completion != nil) { self.completion(url, items, items == nil ? error : nil); }
                    });
                }];
            }
        }

        \(Self.objectiveCPassword)
        \(objectiveCReading)
        @end

        """
    }

    /// The method that fetches the password of a picked item.
    private static let objectiveCPassword = """
        // The password of the item. It opens every file of a zip.
        - (void)fetchPasswordFor:(NSURL *)url then:(void (^)(NSString *password, NSError *error))handle {
            // A provider may offer several services. Use the one with this name, not the first one.
            NSFileProviderServiceName name = @"\(PasswordService.name)";
            NSError *missing = [NSError errorWithDomain:NSCocoaErrorDomain code:NSFeatureUnsupportedError userInfo:nil];
            [NSFileManager.defaultManager
                getFileProviderServicesForItemAtURL:url
                                  completionHandler:^(NSDictionary *services, NSError *error) {
                NSFileProviderService *service = services[name];
                if (service == nil) { return handle(nil, error ?: missing); }
                [service getFileProviderConnectionWithCompletionHandler:^(
                    NSXPCConnection *connection, NSError *connectionError) {
                    if (connection == nil) { return handle(nil, connectionError ?: missing); }
                    connection.remoteObjectInterface =
                        [NSXPCInterface interfaceWithProtocol:@protocol(KeySharingPassword)];
                    [connection resume];
                    // NSXPCConnection calls either the error handler or the reply, and only once.
                    id<KeySharingPassword> proxy =
                        [connection remoteObjectProxyWithErrorHandler:^(NSError *proxyError) {
                            [connection invalidate];
                            handle(nil, proxyError);
                        }];
                    [proxy fetchPassword:^(NSString *password, NSError *passwordError) {
                        [connection invalidate];
                        handle(password, passwordError ?: missing);
                    }];
                }];
            }];
        }

        """

    /// The Objective-C code of a legacy request.
    var objectiveCLegacy: String {
        """
        #import <Security/Security.h>
        #import <UIKit/UIKit.h>
        \(objectiveCZipImport)
        \(Self.objectiveCInterface)
        - (void)presentFrom:(UIViewController *)presenter {
            // The provider receives these types unchanged, and lists the items that match.
            NSArray<NSString *> *documentTypes = @[
        \(types { "@\"\($0)\"," })
            ];
            // Deprecated since iOS 14, but its successor does not send the types to a legacy provider.
            UIDocumentPickerViewController *picker =
                [[UIDocumentPickerViewController alloc] initWithDocumentTypes:documentTypes
                                                                       inMode:UIDocumentPickerModeOpen];
            picker.delegate = self;
            // Each item has its own password, and the pasteboard contains only the last one.
            picker.allowsMultipleSelection = NO;
            [presenter presentViewController:picker animated:YES completion:nil];
        }

        - (void)documentPicker:(UIDocumentPickerViewController *)controller
            didPickDocumentsAtURLs:(NSArray<NSURL *> *)urls {
            NSURL *url = urls.firstObject;
            if (url == nil) { return; }
            BOOL isAccessing = [url startAccessingSecurityScopedResource];
            // The provider wrote the password to the pasteboard. Reading it makes the system ask the user. If the
            // file comes from another source, the password is nil: ask the user for it.
            NSString *password = UIPasteboard.generalPasteboard.string;
            UIPasteboard.generalPasteboard.items = @[];
            NSError *error = [NSError errorWithDomain:NSCocoaErrorDomain code:NSUserCancelledError userInfo:nil];
            NSArray *items = password == nil ? nil : [self itemsAt:url password:password error:&error];
            // Always stop accessing the file, even if reading the password or the file failed.
            if (isAccessing) { [url stopAccessingSecurityScopedResource]; }
            if (self.completion != nil) { self.completion(url, items, items == nil ? error : nil); }
        }

        \(objectiveCReading)
        @end

        """
    }

    private var objectiveCZipImport: String {
        request.permitsZips
            ? "#import <ZipArchive/ZipArchive.h>  // https://github.com/ZipArchive/ZipArchive, 2.5\n" : ""
    }

    private static let objectiveCInterface = """
        // Lets the user pick keys, and imports them. Keep a reference until the completion is called.
        @interface KeyImporter : NSObject <UIDocumentPickerDelegate>
        // Called on the main queue for each picked file, with the items from SecPKCS12Import, or with nil and the error.
        @property (nonatomic, copy) void (^completion)(NSURL *url, NSArray *items, NSError *error);
        - (void)presentFrom:(UIViewController *)presenter;
        @end

        @implementation KeyImporter

        """

    /// The methods that read a picked file and import it: a file, a zip, or either.
    private var objectiveCReading: String {
        guard request.permitsZips else { return Self.objectiveCContents("itemsIn") + Self.objectiveCFile }
        return Self.objectiveCContents("itemsInZipOrFile") + objectiveCZip + Self.objectiveCFile
    }

    private static func objectiveCContents(_ next: String) -> String {
        """
        - (NSArray *)itemsAt:(NSURL *)url password:(NSString *)password error:(NSError **)error {
            __block NSData *contents = nil;
            __block NSError *readingError = nil;
            NSError *coordinationError = nil;
            [[[NSFileCoordinator alloc] initWithFilePresenter:nil]
                coordinateReadingItemAtURL:url
                                   options:0
                                     error:&coordinationError
                                byAccessor:^(NSURL *readable) {
                contents = [NSData dataWithContentsOfURL:readable options:0 error:&readingError];
            }];
            if (contents == nil) {
                if (error != NULL) { *error = coordinationError ?: readingError; }
                return nil;
            }
            return [self \(next):contents password:password error:error];
        }


        """
    }

    private var objectiveCZip: String {
        let file =
            request.permitsFiles
            ? """
                // A zip begins with "PK"; a PKCS #12 file begins with an ASN.1 sequence.
                if (contents.length < 2 || memcmp(contents.bytes, "PK", 2) != 0) {
                    return [self itemsIn:contents password:password error:error];
                }

            """ : ""
        return """
            // The files of a zip, each as a whole, from a temporary folder that is removed on every path.
            - (NSArray *)itemsInZipOrFile:(NSData *)contents password:(NSString *)password error:(NSError **)error {
            \(file)    NSString *name = NSUUID.UUID.UUIDString;
                NSString *folder = [NSTemporaryDirectory() stringByAppendingPathComponent:name];
                NSString *zip = [folder stringByAppendingPathExtension:@"zip"];
                NSMutableArray *items = nil;
                if ([contents writeToFile:zip options:NSDataWritingFileProtectionComplete error:error]
                    && [SSZipArchive unzipFileAtPath:zip toDestination:folder overwrite:YES password:nil error:error]) {
                    items = [NSMutableArray array];
                    for (NSString *path in [NSFileManager.defaultManager enumeratorAtPath:folder]) {
                        if (![path.pathExtension isEqualToString:@"p12"] || [path hasPrefix:@"__MACOSX/"]) { continue; }
                        NSString *file = [folder stringByAppendingPathComponent:path];
                        NSData *bytes = [NSData dataWithContentsOfFile:file options:0 error:error];
                        NSArray *found = bytes == nil ? nil : [self itemsIn:bytes password:password error:error];
                        if (found == nil) {
                            items = nil;
                            break;
                        }
                        [items addObjectsFromArray:found];
                    }
                }
                [NSFileManager.defaultManager removeItemAtPath:zip error:NULL];
                [NSFileManager.defaultManager removeItemAtPath:folder error:NULL];
                return items;
            }


            """
    }

    private static let objectiveCFile = """
        // Stores every identity of a PKCS #12 file in the app's keychain, not only the first.
        - (NSArray *)itemsIn:(NSData *)contents password:(NSString *)password error:(NSError **)error {
            CFArrayRef imported = NULL;
            NSDictionary *options = @{(__bridge id)kSecImportExportPassphrase : password};
            OSStatus status =
                SecPKCS12Import((__bridge CFDataRef)contents, (__bridge CFDictionaryRef)options, &imported);
            NSArray *items = CFBridgingRelease(imported);
            for (NSDictionary *item in items) {
                id identity = item[(__bridge id)kSecImportItemIdentity];
                if (status != errSecSuccess || identity == nil) { continue; }
                status = SecItemAdd((__bridge CFDictionaryRef)@{(__bridge id)kSecValueRef : identity}, NULL);
                // An identity that is already in the keychain is not an error.
                if (status == errSecDuplicateItem) { status = errSecSuccess; }
            }
            if (status == errSecSuccess) { return items ?: @[]; }
            if (error != NULL) { *error = [NSError errorWithDomain:NSOSStatusErrorDomain code:status userInfo:nil]; }
            return nil;
        }

        """
}
